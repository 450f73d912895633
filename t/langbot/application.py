"""What stands around LangBot's Box parts in its application: configuration, logger, who the workspace is.

The parts themselves (BoxService, connector, runner service, tool loaders, skill store, MCP session) are LangBot's own.
"""

import asyncio
import logging
import os
import types
import uuid

os.environ["LANGBOT_BOX_CONTROL_TOKEN"] = os.environ["BOX_TOKEN"]

import langbot_parts  # noqa: E402
from harness import ADDRESS, EVENTUALLY_SEC, INSTANCE, Tap, ok  # noqa: E402
from langbot.pkg.api.http.context import ExecutionContext  # noqa: E402

SHARED = os.environ["BOX_SHARED"]
WORKSPACE = str(uuid.uuid4())
BACKEND = os.environ.get("BOX_BACKEND", "local")

# The box section LangBot ships, with an endpoint and directories of this test.
BOX = {
    "enabled": True,
    "backend": BACKEND,
    "runtime": {"endpoint": f"ws://{ADDRESS}"},
    "limits": {"max_sessions": 64, "max_managed_processes": 64, "max_completed_processes": 256, "max_workspace_entries": 100000, "max_admission_records": 100000, "max_rpc_file_bytes": 20971520},
    "admission": {"required": False, "logical_session_id": "global", "required_backend": "nsjail", "max_sessions": 1, "max_managed_processes": 0, "max_grant_ttl_sec": 300, "max_timeout_sec": 120, "cpus": 1.0, "memory_mb": 512, "pids_limit": 128, "read_only_rootfs": True, "workspace_quota_mb": 0, "readiness_cache_sec": 15},
    "local": {"profile": "default", "image": "", "host_root": f"{SHARED}/box", "default_workspace": "", "allowed_mount_roots": [f"{SHARED}/box", "/tmp"], "workspace_quota_mb": None},
    "default_memory_mb": 256,
    "docker": {"cpu_limit_enabled": True},
    "e2b": {"api_key": "", "api_url": "", "template": ""},
}
CONFIG = {"box": BOX, "mcp": {"stdio": {"enabled": True}}}
if langbot_parts.repository:
    CONFIG["skills"] = {"root": f"{SHARED}/box/skills"}
else:
    BOX["local"]["skills_root"] = "skills"


class Workspaces:
    instance_uuid = INSTANCE

    async def get_execution_binding(self, workspace_uuid, expected_generation=None):
        return types.SimpleNamespace(instance_uuid=INSTANCE, workspace_uuid=workspace_uuid, placement_generation=1)


def application():
    ap = types.SimpleNamespace()
    ap.logger = logging.getLogger("langbot")
    ap.instance_config = types.SimpleNamespace(data=CONFIG)
    ap.workspace_service = Workspaces()
    ap.event_loop = asyncio.get_running_loop()
    ap.box_service = langbot_parts.service.BoxService(ap)
    if langbot_parts.repository:
        ap.skill_repository = langbot_parts.repository.SkillRepository(ap)
        ap.skill_mgr = langbot_parts.part("skill.manager").SkillManager(ap)
    return ap


def context():
    return ExecutionContext(instance_uuid=INSTANCE, workspace_uuid=WORKSPACE, placement_generation=1)


def query(**more):
    """One message of one chat, on its way through LangBot."""
    launcher = types.SimpleNamespace(value="person")
    told = dict(query_id=42, query_uuid=str(uuid.uuid4()), launcher_type=launcher, launcher_id="test_user", sender_id="test_user", variables={}, pipeline_config={}, pipeline_uuid="p", bot_uuid="b", instance_uuid=INSTANCE, workspace_uuid=WORKSPACE, placement_generation=1, execution_context=context(), _execution_context=context(), message_chain=None)
    return types.SimpleNamespace(**(told | more))


async def run_of(ap, reuse_key, **more):
    """A query whose runner has acquired the box of this key and bound it, as runner plugins do since 4.11.0."""
    boxes, q = langbot_parts.runner.RunnerBoxService(ap.box_service), query(**more)
    box = await boxes.acquire(context(), {"reuse_key": reuse_key, "options": {}}, q)
    await boxes.bind(context(), q, f"run-{uuid.uuid4()}", box["id"])
    return q


class Running:
    """An application whose BoxService is connected, for the scenarios of the harness."""

    async def __aenter__(self):
        self.ap = application()
        await self.ap.box_service.initialize()
        return self.ap

    async def __aexit__(self, *exc):
        await self.ap.box_service.shutdown()


def main_of(main):
    try:
        asyncio.run(asyncio.wait_for(main(), 8 * EVENTUALLY_SEC))
    except Exception as exc:
        import traceback

        traceback.print_exc()
        ok(False, f"came to its end: {exc}")
    print(f"1..{Tap.count}", flush=True)
    raise SystemExit(1 if Tap.failures else 0)
