"""LangBot's own service layer: BoxService and its connector, a tool call, an MCP stdio server, a reconnect.

Only what stands around them in LangBot's application (configuration, logger, who the workspace is) is made here.
"""

import asyncio
import logging
import os
import signal
import subprocess
import types
import uuid
from contextlib import AsyncExitStack

os.environ["LANGBOT_BOX_CONTROL_TOKEN"] = os.environ["BOX_TOKEN"]

from harness import ADDRESS, EVENTUALLY_SEC, INSTANCE, contains, eventually, ok, same, scenario, Tap  # noqa: E402
from langbot.pkg.api.http.context import ExecutionContext  # noqa: E402
from langbot.pkg.box.service import BoxService  # noqa: E402
from langbot.pkg.provider.tools.loaders.mcp_stdio import BoxStdioSessionRuntime  # noqa: E402
from langbot_plugin.box.errors import BoxError  # noqa: E402

from relay_server import SERVER  # noqa: E402

WORKSPACE = str(uuid.uuid4())
SHARED = os.environ["BOX_SHARED"]

# The box section LangBot ships, with an endpoint and directories of this test.
BOX = {
    "enabled": True,
    "backend": "local",
    "runtime": {"endpoint": f"ws://{ADDRESS}"},
    "limits": {"max_sessions": 64, "max_managed_processes": 64, "max_completed_processes": 256, "max_workspace_entries": 100000, "max_admission_records": 100000, "max_rpc_file_bytes": 20971520},
    "admission": {"required": False, "logical_session_id": "global", "required_backend": "nsjail", "max_sessions": 1, "max_managed_processes": 0, "max_grant_ttl_sec": 300, "max_timeout_sec": 120, "cpus": 1.0, "memory_mb": 512, "pids_limit": 128, "read_only_rootfs": True, "workspace_quota_mb": 0, "readiness_cache_sec": 15},
    "local": {"profile": "default", "image": "", "host_root": f"{SHARED}/box", "default_workspace": "", "skills_root": "skills", "allowed_mount_roots": [f"{SHARED}/box", "/tmp"], "workspace_quota_mb": None},
    "default_memory_mb": 256,
    "docker": {"cpu_limit_enabled": True},
    "e2b": {"api_key": "", "api_url": "", "template": ""},
}


class Workspaces:
    instance_uuid = INSTANCE

    async def get_execution_binding(self, workspace_uuid, expected_generation=None):
        return types.SimpleNamespace(instance_uuid=INSTANCE, workspace_uuid=workspace_uuid, placement_generation=1)


def application():
    ap = types.SimpleNamespace()
    ap.logger = logging.getLogger("langbot")
    ap.instance_config = types.SimpleNamespace(data={"box": BOX})
    ap.workspace_service = Workspaces()
    ap.event_loop = asyncio.get_running_loop()
    ap.box_service = BoxService(ap)
    return ap


def context():
    return ExecutionContext(instance_uuid=INSTANCE, workspace_uuid=WORKSPACE, placement_generation=1)


def query(**more):
    launcher = types.SimpleNamespace(value="person")
    told = dict(query_id=42, query_uuid=str(uuid.uuid4()), launcher_type=launcher, launcher_id="test_user", sender_id="test_user", variables={}, pipeline_config={}, pipeline_uuid="p", bot_uuid="b", instance_uuid=INSTANCE, workspace_uuid=WORKSPACE, placement_generation=1, execution_context=context(), _execution_context=context())
    return types.SimpleNamespace(**(told | more))


def mcp_server(ap, stack, **box):
    owner = types.SimpleNamespace(ap=ap, server_name="sums", server_uuid=str(uuid.uuid4()), exit_stack=stack, session=None, error_phase=None, execution_context=context())
    owner.server_config = {"mode": "stdio", "command": "python3", "args": ["-uc", SERVER], "env": {}, "box": box}
    owner._build_box_session_id = lambda: "mcp-shared"
    return owner, BoxStdioSessionRuntime(owner)


async def main():
    ap = application()
    box = ap.box_service
    await box.initialize()
    ok(box.available, "initialize: the runtime is available")
    same((await box.get_status(context()))["available"], True, "status says so")
    r = await box.execute_tool({"command": "echo hello; pwd; touch /workspace/mark"}, query())
    same((r["ok"], r["status"], r["session_id"], r["stdout"]), (True, "completed", "person_test_user", "hello\n/workspace"), "a tool call")
    r = await box.execute_tool({"command": "head -c 5000 /dev/zero | tr '\\0' x; exit 7", "timeout_sec": 999}, query())
    same((r["ok"], r["exit_code"], len(r["stdout"]), r["stdout_truncated"]), (False, 7, 4000, True), "its output is cut by LangBot")
    r = await box.execute_tool({"command": "pwd"}, query(launcher_type=None, launcher_id=None, sender_id=None))
    same((r["ok"], r["session_id"]), (True, "query_42"), "a query that nobody launched has a session of its own")
    same(len(await box.get_sessions(context())), 2, "sessions are listed")
    skill = await box.create_skill(context(), {"name": "greet", "instructions": "say hello"})
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
    r = await box.execute_tool({"command": "ls /workspace/mark"}, query())
    same(r["ok"], True, "the session is the same")
    async with AsyncExitStack() as stack:
        owner.exit_stack = stack
        await mcp.initialize()
        same((await owner.session.call_tool("add", {"a": 1, "b": 2})).content[0].text, "3", "the same MCP server goes on")
    await box.shutdown()


if __name__ == "__main__":
    try:
        asyncio.run(asyncio.wait_for(main(), 8 * EVENTUALLY_SEC))
    except Exception as exc:
        import traceback

        traceback.print_exc()
        ok(False, f"came to its end: {exc}")
    print(f"1..{Tap.count}", flush=True)
    raise SystemExit(1 if Tap.failures else 0)
