"""Commands and outputs as large as LangBot's imports and exports make them."""

import asyncio
import base64
import json
import re

import websockets
from harness import *

CLIPPED = re.compile(r"\n\.\.\. \[raw output clipped at (\d+) bytes, (\d+) bytes discarded\]$")


@scenario
async def imports(c):
    """A file of 200000 bytes comes in as LangBot sends it: base64 within base64, in one command"""
    ctx = context()
    data = bytes(i * 7 % 256 for i in range(200000))
    script = f"import base64; open('/tmp/f', 'wb').write(base64.b64decode('{base64.b64encode(data).decode()}'))"
    inner = base64.b64encode(script.encode()).decode()
    cmd = f"python3 - <<'LBPY'\nimport base64\nexec(base64.b64decode('{inner}'))\nLBPY\nmd5sum </tmp/f; wc -c </tmp/f"
    ok(len(cmd) > 350_000, "the command is longer than the kernel takes in one argument")
    r = await c.client.execute(spec("s", cmd), ctx)
    same((r.exit_code, r.stdout.split()[-1]), (0, "200000"), "it arrives")
    await raises(c.client.execute(spec("s", "true # " + "x" * (1 << 20)), ctx), _validation(), "cmd must be at most 1048576 bytes", "over 1 MiB is refused by name")


@scenario
async def exports(c):
    """A file of 10 MiB goes out as LangBot takes it: one JSON list on standard output"""
    ctx = context()
    cmd = "python3 - <<'LBPY'\nimport base64, json\nprint(json.dumps([{'name': '/tmp/f', 'b64': base64.b64encode(bytes(10 << 20)).decode()}]))\nLBPY"
    r = await c.client.execute(spec("s", cmd, memory_mb=512), ctx)
    same((r.exit_code, len(base64.b64decode(json.loads(r.stdout)[0]["b64"]))), (0, 10 << 20), "all of it, in one reply")


@scenario
async def escaped(c):
    """What would make a reply longer than 16 MiB is cut, and says so"""
    ctx = context()
    r = await c.client.execute(spec("s", "head -c 10000000 /dev/zero | tr '\\0' '\\001'; head -c 10000000 /dev/zero | tr '\\0' e >&2", memory_mb=512), ctx)
    found = CLIPPED.search(r.stdout), CLIPPED.search(r.stderr)
    ok(found[0] is not None and int(found[0][1]) + int(found[0][2]) == 10_000_000, "standard output, with the notice LangBot looks for")
    ok(int(found[0][1]) > 1_300_000 and r.stdout.startswith("\x01" * 1_300_000), "it has its half of the reply")
    ok(found[1] is not None and int(found[1][1]) + int(found[1][2]) == 10_000_000 and int(found[1][1]) > 8_000_000, "standard error has the other")
    r = await c.client.execute(spec("s", "head -c 5000000 /dev/zero | tr '\\0' '\\377'; head -c 20000000 /dev/zero | tr '\\0' e >&2", memory_mb=512), ctx)
    ok(CLIPPED.search(r.stderr) is not None and "\ufffd" in r.stdout, "bytes that are no text, and more than is kept")
    r = await c.client.execute(spec("s", "yes 语言语言语言 | head -c 14000000", memory_mb=512), ctx)
    ok(CLIPPED.search(r.stdout) is None and len(r.stdout.encode()) > 13_900_000, "text that needs no escapes is not cut")
    r = await c.client.execute(spec("s", "echo alive", memory_mb=512), ctx)
    same(r.stdout, "alive", "the session and the connection live on")


@scenario
async def many(c):
    """Long commands in flight have a budget, and short ones get through"""
    long = "exec sleep 1000 # " + "x" * ((1 << 20) - 20)
    contexts = [context(), context()]
    more = {"workdir": "/tmp", "memory_mb": 512, "pids_limit": 200, "timeout_sec": 600}
    async with connect() as a, connect() as b:
        for ws, ctx in zip((a, b), contexts):
            for i in range(70):
                await say(ws, i, "box_exec", {"session_id": "m", "cmd": long} | more, ctx)
        refused = [json.loads(await asyncio.wait_for(b.recv(), EVENTUALLY_SEC)) for _ in range(12)]
        same({r["message"] for r in refused}, {"BoxError: Box runtime is busy: long commands that wait or run have 128 MiB together"}, "12 of 140 MiB are refused")
        await say(b, 100, "box_exec", {"session_id": "m", "cmd": "echo short"} | more, contexts[1])
        same(json.loads(await asyncio.wait_for(b.recv(), EVENTUALLY_SEC))["data"]["stdout"], "short", "a short one runs")
    for ctx in contexts:
        await c.client.delete_session("m", ctx)
    r = await c.client.execute(spec("m", "echo again # " + "x" * 1_000_000), contexts[1])
    same(r.stdout, "again", "what has ended is not counted any more")


def connect():
    return websockets.connect(RPC_URL, additional_headers=headers(), proxy=None, max_size=1 << 24)


async def say(ws, seq, action, data, ctx):
    body = {"instance_uuid": ctx.instance_uuid, "workspace_uuid": ctx.workspace_uuid, "placement_generation": 1}
    await ws.send(json.dumps({"seq_id": seq, "action": action, "data": data, "context": body}))


def _validation():
    from langbot_plugin.box.errors import BoxValidationError

    return BoxValidationError


run()
