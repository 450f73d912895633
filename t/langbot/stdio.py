"""LangBot's own stdio controller starts boxctl langbot-stdio, as it would start its own runtime, and everything goes through two pipes."""

import asyncio
import io
import os
import zipfile

from harness import *
from langbot_plugin.box.errors import BoxSessionNotFoundError
from langbot_plugin.runtime.io.controllers.stdio.client import StdioClientController

COMMAND, *OPTIONS = os.environ["BOXCTL"].split()


def through_pipes(instance=INSTANCE, **more):
    env = os.environ | {"LANGBOT_BOX_TRUSTED_INSTANCE_UUID": instance, "LANGBOT_BOX_CONTROL_TOKEN": TOKEN}
    return Connection(controller=StdioClientController(COMMAND, [*OPTIONS, "langbot-stdio"], env, **more))


@scenario
async def commands(c):
    """Commands"""
    ctx = context()
    await c.client.initialize()
    r = await c.client.execute(spec(cmd="echo hello-box; echo kept > /tmp/f; exit 3"), ctx)
    same((r.exit_code, r.stdout), (3, "hello-box"), "a command")
    same((await c.client.execute(spec(cmd="cat /tmp/f"), ctx)).stdout, "kept", "and one more")
    many = await asyncio.gather(*[c.client.execute(spec(cmd=f"echo {i}"), ctx) for i in range(20)])
    same([r.stdout for r in many], [str(i) for i in range(20)], "twenty at once")
    await raises(c.client.get_session("nobody", ctx), BoxSessionNotFoundError, "not found", "an error has its class")


@scenario
async def large(c):
    """Messages longer than a line may be"""
    ctx = context()
    r = await c.client.execute(spec(cmd="head -c 1000000 /dev/zero | tr '\\0' a"), ctx)
    same(r.stdout, "a" * 1000000, "out")
    for n in (1, 5400, 5461, 5462, 16000, 16384, 20000, 300000):  # around the 16 KiB of a chunk, which may not cut a character
        text = "\u4e2d" * n
        if n < 40000:  # more would not fit an argument of the shell
            r = await c.client.execute(spec(cmd=f"cat <<'END'\n{text}\nEND"), ctx)
            same(r.stdout, text, f"{n} wide characters in, and out again")
        if SKILL_ACTIONS:
            await c.client.create_skill({"name": f"long-{n}", "instructions": text}, ctx)
            same((await c.client.get_skill(f"long-{n}", ctx))["instructions"].strip(), text, f"{n} wide characters in a skill, and out again")


@scenario
async def upload(c):
    """A zip in many chunks"""
    if not SKILL_ACTIONS:
        return
    ctx, out = context(), io.BytesIO()
    noise = os.urandom(500000)
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("SKILL.md", "---\nname: packed\ndescription: d\n---\n\nuse it\n")
        z.writestr("noise", noise)
    same([s["name"] for s in await c.client.install_skill_zip(out.getvalue(), "packed.zip", action_context=ctx)], ["packed"], "installed")
    found = await c.client.get_skill("packed", ctx)
    same(open(f"{found['package_root']}/noise", "rb").read(), noise, "as it was")


@scenario
async def ends(c):
    """The end of the pipes is the end of the bridge, not of the sessions"""
    ctx = context()
    async with through_pipes() as other:
        await other.client.create_session(spec(), ctx)
        bridge = other.controller.process
    same(bridge.returncode, 0, "the bridge ends by itself, in order")
    same([s["session_id"] for s in await c.client.get_sessions(ctx)], ["s"], "the session is there for the next")
    async with through_pipes("another", capture_stderr=True) as wrong:
        refused = wrong.controller.process
        await asyncio.wait_for(wrong.closed.wait(), EVENTUALLY_SEC)
    contains((await refused.stderr.read()).decode(), "boxd refused: HTTP/1.1 401 Unauthorized", "another instance is not served, and told so")


run(through_pipes)
