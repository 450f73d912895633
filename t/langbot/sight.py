"""What LangBot 4.11.1 and later shows of its boxes: room, state and storage, by its own services."""

import asyncio
import os

import langbot_parts
from application import Running, context, run_of
from harness import eventually, ok, run, same, scenario


@scenario
async def room(ap):
    """Runners see how many boxes there are, how many may be, and which are busy"""
    boxes = langbot_parts.runner.RunnerBoxService(ap.box_service)

    async def told():
        s = await boxes.status(context())
        return s["limit"], s["used"], s["remaining"]

    async def listed():
        return {s["session_id"]: boxes.public_session(s)["status"] for s in await boxes.sessions(context())}

    limit = (await told())[0]
    ok(0 < limit <= 64, "there is a limit: LangBot's, or boxd's own if that is less")
    same(await told(), (limit, 0, limit), "none")
    q = await run_of(ap, "group_1")
    await boxes.acquire(context(), {"reuse_key": "group_2", "options": {}}, q)
    same(await told(), (limit, 2, limit - 2), "two")
    mine = langbot_parts.runner.binding_for(q).session_id
    shared = ap.box_service.workspace_host_path(context())
    busy = asyncio.create_task(ap.box_service.execute_tool({"command": "touch /workspace/a; until [ -e /workspace/go ]; do sleep 0.05; done; rm /workspace/a /workspace/go"}, q))
    await eventually(lambda: os.path.exists(f"{shared}/a"), "a command runs")
    now = await listed()
    same((now.pop(mine), list(now.values())), ("running", ["idle"]), "its box is running, the other idle")
    open(f"{shared}/go", "w").close()
    await busy
    same(set((await listed()).values()), {"idle"}, "then both are idle")


@scenario
async def storage_page(ap):
    """The storage page"""
    q = await run_of(ap, "group_1")
    await ap.box_service.execute_tool({"command": "mkdir -p /workspace/inbox; head -c 12345 /dev/zero > /workspace/inbox/f"}, q)
    r = await ap.box_service.get_storage_analysis(context())
    entries = {e["key"]: e for e in r["directories"]}
    own = ap.box_service.workspace_host_path(context())
    same((entries["workspace"]["path"], entries["inbox"]["size_bytes"]), (own, 12345), "the workspace and what is in it")
    ok(entries["workspace"]["size_bytes"] >= 12345 and r["size_bytes"] >= entries["workspace"]["size_bytes"], "counted once for all")
    same((r["active_sessions"], entries["session_workspaces"]["size_bytes"]), (1, 0), "a session with a directory of LangBot's adds nothing")


run(Running)
