"""A client of before LangBot knew instances and workspaces: no header, no context, ids as they are."""

import asyncio

import websockets
from harness import *
from langbot_plugin.box.errors import BoxSessionNotFoundError


def old():
    return Connection(head={})


def attach(path, **more):
    return websockets.connect(f"ws://{ADDRESS}/v1/sessions/{path}/ws", proxy=None, **more)


@scenario
async def commands(c):
    """Sessions without a workspace"""
    r = await c.client.execute(spec("42", "echo hello-box; echo kept > /tmp/f"))
    same((r.session_id, r.stdout), ("42", "hello-box"), "the id is the id")
    async with old() as other:
        same((await other.client.execute(spec("42", "cat /tmp/f"))).stdout, "kept", "another connection shares the session")
        same([s["session_id"] for s in await other.client.get_sessions()], ["42"], "and sees it listed")
    same((await c.client.get_status())["active_sessions"], 1, "status counts it")
    await c.client.delete_session("42")
    await raises(c.client.get_session("42"), BoxSessionNotFoundError, "42", "deleted")


@scenario
async def relay(c):
    """The relay by a raw id, without headers, on both routes"""
    await c.client.create_session(spec("r"))
    await c.client.start_managed_process("r", process("cat"))
    for path in ("r/managed-process", "r/managed-process/default"):
        async with attach(path) as ws:
            await ws.send("hello from test")
            contains(await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC), "hello from test", path)
    try:
        async with attach("nobody/managed-process"):
            ok(False, "an unknown session")
    except websockets.InvalidStatus as exc:
        same(exc.response.status_code, 400, "an unknown session")
    await c.client.delete_session("r")


@scenario
async def skills(c):
    """Skills without a workspace"""
    if not SKILL_ACTIONS:
        return
    await c.client.create_skill({"name": "old", "instructions": "use it"})
    same([s["name"] for s in await c.client.list_skills()], ["old"], "made and listed")


@scenario
async def beside(c):
    """Clients of today are served beside them, in workspaces of their own"""
    ctx = context()
    await c.client.execute(spec("42", "echo old > /tmp/f"))
    async with Connection() as new:
        r = await new.client.execute(spec("42", "cat /tmp/f"), ctx)
        ok(r.exit_code != 0, "the same id is another sandbox")
        same([s["session_id"] for s in await new.client.get_sessions(ctx)], ["42"], "which is its only one")
        if SKILL_ACTIONS:
            same(await new.client.list_skills(ctx), [], "and it has no skills")
    await c.client.delete_session("42")


run(old)
