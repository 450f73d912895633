"""LangBot's own service layer: BoxService and its connector, a tool call, an MCP stdio server, a reconnect."""

import hashlib
import os
import signal
import subprocess
import types
import uuid
from contextlib import AsyncExitStack

import langbot_parts
from application import application, context, main_of, query, run_of
from harness import SKILL_ACTIONS, eventually, ok, same
from relay_server import SERVER

RUNNERS = langbot_parts.runner is not None  # since 4.11.0 a runner chooses the box, before that the query did


def mcp_server(ap, stack, **box):
    owner = types.SimpleNamespace(ap=ap, server_name="sums", server_uuid=str(uuid.uuid4()), exit_stack=stack, session=None, error_phase=None, execution_context=context())
    owner.server_config = {"mode": "stdio", "command": "python3", "args": ["-uc", SERVER], "env": {}, "box": box}
    owner._build_box_session_id = lambda: "mcp-shared"
    return owner, langbot_parts.mcp_stdio.BoxStdioSessionRuntime(owner)


def runner_id(key):
    return "runner-" + hashlib.sha256(key.encode()).hexdigest()


async def main():
    ap = application()
    box = ap.box_service
    await box.initialize()
    ok(box.available, "initialize: the runtime is available")
    same((await box.get_status(context()))["available"], True, "status says so")
    chat = await run_of(ap, "group_1") if RUNNERS else query()
    other = await run_of(ap, "query_42") if RUNNERS else query(launcher_type=None, launcher_id=None, sender_id=None)
    r = await box.execute_tool({"command": "echo hello; pwd; touch /workspace/mark"}, chat)
    same((r["ok"], r["status"], r["session_id"], r["stdout"]), (True, "completed", runner_id("group_1") if RUNNERS else "person_test_user", "hello\n/workspace"), "a tool call")
    r = await box.execute_tool({"command": "head -c 5000 /dev/zero | tr '\\0' x; exit 7", "timeout_sec": 999}, chat)
    same((r["ok"], r["exit_code"], len(r["stdout"]), r["stdout_truncated"]), (False, 7, 4000, True), "its output is cut by LangBot")
    r = await box.execute_tool({"command": "pwd"}, other)
    same((r["ok"], r["session_id"]), (True, runner_id("query_42") if RUNNERS else "query_42"), "another key, or a query that nobody launched, has a session of its own")
    same(len(await box.get_sessions(context())), 2, "sessions are listed")
    skills = box if SKILL_ACTIONS else ap.skill_repository
    skill = await skills.create_skill(context(), {"name": "greet", "instructions": "say hello"})
    same(skill["name"], "greet", "a skill")

    async with AsyncExitStack() as stack:
        owner, mcp = mcp_server(ap, stack)
        await mcp.initialize()
        same([t.name for t in (await owner.session.list_tools()).tools], ["add"], "an MCP stdio server in the sandbox")
        same((await owner.session.call_tool("add", {"a": 40, "b": 2})).content[0].text, "42", "answers")

    gateway = subprocess.run(["pgrep", "-x", "box-gateway", "-P", os.environ["BOXD_PID"]], capture_output=True, text=True).stdout.split()
    os.kill(int(gateway[0]), signal.SIGKILL)
    await eventually(lambda: not box.available, "the gateway is killed: LangBot notices")
    await eventually(lambda: box.available, "and reconnects by itself")
    r = await box.execute_tool({"command": "ls /workspace/mark"}, chat)
    same(r["ok"], True, "the session is the same")
    async with AsyncExitStack() as stack:
        owner.exit_stack = stack
        await mcp.initialize()
        same((await owner.session.call_tool("add", {"a": 1, "b": 2})).content[0].text, "3", "the same MCP server goes on")
    await box.shutdown()


main_of(main)
