"""TAP, and LangBot's own client connected to the boxd of the test.

A scenario is a coroutine decorated with @scenario; run() connects, runs them in
order, each with a workspace of its own, and prints the plan at the end.
"""

import asyncio
import logging
import os
import sys
import traceback
import uuid

from langbot_plugin.box.client import ActionRPCBoxClient
from langbot_plugin.box.models import BoxManagedProcessSpec, BoxSpec
from langbot_plugin.entities.io.context import ActionContext
from langbot_plugin.runtime.io.controllers.ws.client import WebSocketClientController
from langbot_plugin.runtime.io.handler import Handler

ADDRESS = os.environ["BOX_ADDRESS"]  # host:port
TOKEN = os.environ.get("BOX_TOKEN", "")
INSTANCE = os.environ.get("BOX_INSTANCE", "inst-1")
TLS = "s" if os.environ.get("BOX_TLS") else ""
RPC_URL = f"ws{TLS}://{ADDRESS}/rpc/ws"
RELAY_BASE = f"http{TLS}://{ADDRESS}"
EVENTUALLY_SEC = 60
SKILL_ACTIONS = hasattr(ActionRPCBoxClient, "list_skills")  # until langbot-plugin 0.7.12

logging.basicConfig(level=logging.CRITICAL)


class Tap:
    count = 0
    failures = 0


def ok(passed, name):
    Tap.count += 1
    print(f"{'ok' if passed else 'not ok'} {Tap.count} - {name.replace('#', '_')}", flush=True)
    if not passed:
        Tap.failures += 1
        frame = traceback.extract_stack()[-2]
        if frame.name in ("same", "contains", "raises", "eventually"):
            frame = traceback.extract_stack()[-3]
        print(f"# failed at {os.path.basename(frame.filename)}:{frame.lineno}", file=sys.stderr, flush=True)
    return passed


def same(got, expected, name):
    if not ok(got == expected, name):
        print(f"#      got: {got!r:.2000}\n# expected: {expected!r:.2000}", file=sys.stderr, flush=True)


def contains(text, part, name):
    if not ok(part in text, name):
        print(f"#   got: {text!r:.2000}\n# lacks: {part!r}", file=sys.stderr, flush=True)


def skip(name, reason):
    Tap.count += 1
    print(f"ok {Tap.count} - {name} # SKIP {reason}", flush=True)


async def raises(awaitable, kind, part, name):
    """The awaitable fails with exactly this class, and part is in its text."""
    try:
        value = await awaitable
    except Exception as exc:
        if not ok(type(exc) is kind and part in str(exc), name):
            print(f"#      got: {type(exc).__name__}: {exc!s:.2000}\n# expected: {kind.__name__}: ...{part}", file=sys.stderr)
        return exc
    ok(False, name)
    print(f"# no exception, but {value!r:.500}", file=sys.stderr)


async def eventually(condition, name):
    """condition() or await condition() becomes true; a minute is for a machine that stands still."""
    for _ in range(EVENTUALLY_SEC * 20):
        value = condition()
        if asyncio.iscoroutine(value):
            value = await value
        if value:
            return ok(True, name)
        await asyncio.sleep(0.05)
    return ok(False, name)


def headers(instance=INSTANCE, token=TOKEN):
    h = {"X-LangBot-Instance-Id": instance}
    if token:
        h["X-LangBot-Box-Control-Token"] = token
    return h


def context(workspace=None, generation=1, instance=INSTANCE):
    return ActionContext(
        instance_uuid=instance, workspace_uuid=workspace or f"ws-{uuid.uuid4()}", placement_generation=generation
    )


def relay_headers(ctx, token=TOKEN):
    return headers(ctx.instance_uuid, token) | {
        "X-LangBot-Workspace-Id": ctx.workspace_uuid,
        "X-LangBot-Placement-Generation": str(ctx.placement_generation),
    }


def spec(session_id="s", cmd="", **more):
    """As LangBot's suites make them: in /tmp, with little memory."""
    return BoxSpec(**({"session_id": session_id, "cmd": cmd, "workdir": "/tmp", "memory_mb": 128} | more))


def process(command, *args, **more):
    return BoxManagedProcessSpec(**({"command": command, "args": list(args), "cwd": "/tmp"} | more))


class Connection:
    """client: LangBot's own, over LangBot's own controller: of WebSockets unless another is given."""

    def __init__(self, url=RPC_URL, head=None, controller=None):
        self.controller = controller or WebSocketClientController(url, self.failed, headers() if head is None else head)
        self.up = asyncio.Event()
        self.client = ActionRPCBoxClient(logging.getLogger("box"))
        self.error = None
        self.closed = asyncio.Event()

    async def connected(self, connection):
        self.handler = Handler(connection)
        self.client.set_handler(self.handler)
        self.up.set()
        await self.handler.run()

    async def failed(self, controller, exc):
        self.error = exc
        self.up.set()

    async def run(self):
        try:
            await self.controller.run(self.connected)
        finally:
            self.closed.set()

    async def __aenter__(self):
        self.task = asyncio.create_task(self.run())
        await asyncio.wait_for(self.up.wait(), EVENTUALLY_SEC)
        if self.error is not None:
            raise self.error
        return self

    async def __aexit__(self, *exc):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


scenarios = []


def scenario(fn):
    scenarios.append(fn)
    return fn


async def _run(connect):
    only = sys.argv[1:]
    for fn in scenarios:
        if only and fn.__name__ not in only:
            continue
        print(f"# {(fn.__doc__ or fn.__name__).strip().splitlines()[0]}", flush=True)
        try:
            async with connect() as c:
                await fn(c)
        except Exception:
            ok(False, f"{fn.__name__} runs to its end")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", file=sys.stderr)


def run(connect=Connection):
    asyncio.run(_run(connect))
    print(f"1..{Tap.count}", flush=True)
    sys.exit(1 if Tap.failures else 0)
