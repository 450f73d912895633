"""Grants, revocations, and the walls LangBot Cloud requires."""

import asyncio
import datetime
import os
import subprocess

from harness import *
from langbot_plugin.box.errors import BoxAdmissionError, BoxError, BoxReadinessError
from langbot_plugin.box.models import SandboxAdmissionGrant, SandboxAdmissionRevocation

CONFIG = {
    "backend": "local",
    "admission": {"required": True, "memory_mb": 128, "pids_limit": 64, "workspace_quota_mb": 16, "max_timeout_sec": 60},
    "local": {"host_root": os.environ["BOX_SHARED"], "default_workspace": "default", "skills_root": "skills", "allowed_mount_roots": [os.environ["BOX_SHARED"]]},
}
STRICT = os.environ.get("BOX_STRICT") == "1"  # the machine can keep every promise


def grant(ctx, revision=1, seconds=60, **more):
    at = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(seconds=seconds)
    return SandboxAdmissionGrant(**({"instance_uuid": INSTANCE, "workspace_uuid": ctx.workspace_uuid, "execution_generation": ctx.placement_generation, "entitlement_revision": revision, "expires_at": at, "max_sessions": 1, "max_managed_processes": 0} | more))


def standing():
    """How many sandboxes there are, by boxd's own word."""
    return len(subprocess.run([*os.environ["BOXCTL"].split(), "ps", "--names"], capture_output=True, text=True).stdout.split())


def revocation(ctx, revision):
    return SandboxAdmissionRevocation(instance_uuid=INSTANCE, workspace_uuid=ctx.workspace_uuid, entitlement_revision=revision)


@scenario
async def enforced(c):
    """Enforcement is switched on, and never off again"""
    await raises(c.client.upsert_sandbox_admission_grant(grant(context())), BoxAdmissionError, "Sandbox admission enforcement is not enabled", "not before it is required")
    await c.client.init(CONFIG)
    info = await c.client.get_backend_info()
    same(info["name"], "nsjail", "the backend is called as LangBot requires")
    print(f"# readiness: {info['readiness']}")
    same(info["readiness"]["mode"], "grant_enforced", "enforced")
    same(list(info["readiness"]["checks"]), "configuration required_backend workspace_mount backend_available cgroup_v2 namespace_isolation mount_isolation network_isolation hard_workspace_quota hard_read_only_mount_quota hard_skill_storage_quota bounded_ephemeral_storage inode_quota session_cap managed_process_cap".split(), "every check in order")
    if STRICT:
        same((info["available"], info["readiness"]["ready"]), (True, True), "every wall stands, for real")
        same(info["readiness"]["unsafe_soft_storage_limits"], False, "without the unsafe switch")
        await c.client.initialize()
        ok(True, "healthy")
    else:
        same(info["available"], False, "a wall is missing")
        await raises(c.client.execute(spec(cmd="true"), context()), BoxReadinessError, "Managed sandbox isolation is not ready (failed checks:", "so nothing runs")
    await c.client.init(CONFIG | {"admission": {"required": False}})
    await raises(c.client.execute(spec(cmd="true"), context()), BoxReadinessError, "(failed checks: configuration", "switching it off is a mistake, and fails closed")
    await c.client.init(CONFIG | {"admission": {"required": True, "max_sessions": 5}})
    await raises(c.client.execute(spec(cmd="true"), context()), BoxReadinessError, "(failed checks: configuration", "a malformed section too")
    await c.client.init(CONFIG)


@scenario
async def grants(c):
    """Installed, used, outlived, revoked"""
    ctx = context()
    r = await c.client.upsert_sandbox_admission_grant(grant(ctx, 3, 100))
    same((r["installed"], r["workspace_uuid"], r["execution_generation"], r["entitlement_revision"], r["max_sessions"], r["max_managed_processes"]), (True, ctx.workspace_uuid, 1, 3, 1, 0), "the receipt")
    shorter = await c.client.upsert_sandbox_admission_grant(grant(ctx, 3, 50))
    same(shorter["expires_at"], r["expires_at"], "a shorter one of the same revision changes nothing")
    await raises(c.client.upsert_sandbox_admission_grant(grant(ctx, 2)), BoxAdmissionError, "Sandbox admission grant revision is stale", "an older revision")
    await raises(c.client.upsert_sandbox_admission_grant(grant(ctx, 4, 1000)), BoxAdmissionError, "Sandbox admission grant lifetime exceeds the configured maximum", "too long")
    await raises(c.client.upsert_sandbox_admission_grant(grant(ctx, 4, -5)), BoxAdmissionError, "Cannot install an expired sandbox admission grant", "expired")
    await raises(c.client.upsert_sandbox_admission_grant(grant(ctx, 4, max_sessions=2)), BoxAdmissionError, "Sandbox admission grant exceeds the session cap", "too much")
    await raises(c.client.upsert_sandbox_admission_grant(grant(ctx, 4, instance_uuid="other")), BoxError, "PermissionError: Sandbox admission grant does not match the trusted instance", "another instance")
    await c.client.revoke_sandbox_admission_grant(revocation(ctx, 3))
    await raises(c.client.upsert_sandbox_admission_grant(grant(ctx, 3)), BoxAdmissionError, "Sandbox admission grant revision was revoked", "a revoked revision")
    await raises(c.client.revoke_sandbox_admission_grant(revocation(ctx, 2)), BoxAdmissionError, "Sandbox admission revocation is stale", "an older revocation")


@scenario
async def use(c):
    """One sandbox per workspace, as the policy has it"""
    if not STRICT:
        skip("use of an admitted sandbox", "this file system cannot keep a hard quota for a directory")
        return
    a, b = context(), context()
    await raises(c.client.execute(spec(cmd="true"), a), BoxAdmissionError, "Sandbox admission grant is missing", "no grant")
    for ctx in (a, b):
        await c.client.upsert_sandbox_admission_grant(grant(ctx))
    one = dict(workdir="/workspace", timeout_sec=1000)
    results = await asyncio.gather(*[c.client.execute(spec(f"any-{i}", "echo hi >> /workspace/f; echo $$", **one), a) for i in range(20)])
    same({r.session_id for r in results}, {"global"}, "20 first execs: one session")
    sessions = await c.client.get_sessions(a)
    same([(s["session_id"], s["persistent"], s["network"], s["memory_mb"], s["pids_limit"]) for s in sessions], [("global", True, "off", 128, 64)], "with the policy's limits")
    r = await c.client.execute(spec(cmd="ls /workspace", **one), b)
    same(r.stdout, "", "another workspace has another directory")
    same(len({s["host_path"] for ctx in (a, b) for s in await c.client.get_sessions(ctx)}), 2, "and tells so")
    same(standing(), 2, "two workspaces, two sandboxes")
    await raises(c.client.execute(spec(cmd="true", network="on", **one), a), BoxAdmissionError, "Managed sandbox network access is disabled", "no network")
    await raises(c.client.start_managed_process("global", process("cat"), a), BoxAdmissionError, "Sandbox admission grant does not permit managed processes", "no managed processes")
    await raises(c.client.get_session("other", a), BoxAdmissionError, "Managed sandbox session_id is runtime-owned", "no other session")
    r = await c.client.execute(spec(cmd="head -c 40000000 /dev/zero > /workspace/big; rm /workspace/big", **one), a)
    ok("No space" in r.stderr or "quota" in r.stderr, "the kernel refuses what is over the quota")
    if SKILL_ACTIONS:
        await c.client.create_skill({"name": "tool", "instructions": "use"}, a)
        r = await c.client.execute(spec(cmd="cat /workspace/.skills/tool/SKILL.md; touch /workspace/.skills/tool/x", skill_name="tool", **one), a)
        ok("use" in r.stdout and r.exit_code != 0, "a skill is mounted read-only")
        await raises(c.client.execute(spec(cmd="true", skill_name="none", **one), a), BoxAdmissionError, "Managed sandbox skill is unavailable in this Workspace", "an unknown skill")
    await c.client.revoke_sandbox_admission_grant(revocation(a, 1))
    await raises(c.client.execute(spec(cmd="true", **one), a), BoxAdmissionError, "Sandbox admission grant is missing", "revoked")
    await eventually(lambda: standing() == 1, "and its sandbox is closed")
    await c.client.upsert_sandbox_admission_grant(grant(b, 2, 2))

    async def gone():
        try:
            await c.client.get_sessions(b)
            return False
        except BoxAdmissionError:
            return True

    await eventually(gone, "expired by itself")
    await eventually(lambda: standing() == 0, "and with it the other sandbox")


run()
