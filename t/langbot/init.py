"""box_init: what LangBot's client is told of its mistakes, and that these change nothing."""

import hashlib
import os
import secrets

from harness import *
from langbot_plugin.box.errors import BoxBackendUnavailableError, BoxCapacityExceededError, BoxError, BoxReadinessError, BoxValidationError

SHARED = os.environ["BOX_SHARED"]
LOCAL = {"host_root": SHARED, "default_workspace": "default", "skills_root": "skills", "allowed_mount_roots": [SHARED]}


@scenario
async def no_backend(c):
    """A backend that boxd is not"""
    ctx = context()
    for name in ("docker", "e2b", "nonsense"):
        await c.client.init({"backend": name, "local": LOCAL})
        ok(True, f"{name}: box_init itself is taken")
        await raises(c.client.execute(spec(cmd="true"), ctx), BoxBackendUnavailableError, "LangBot Box backend unavailable", "nothing is executed")
        await raises(c.client.create_session(spec(), ctx), BoxBackendUnavailableError, "LangBot Box backend unavailable", "nothing is made")
        same((await c.client.get_status(ctx))["backend"]["available"], False, "status says so")
    for name, told in (("nsjail", "nsjail"), ("local", "native")):
        await c.client.init({"backend": name})
        same(await c.client.get_backend_info(), {"name": told, "available": True}, f"{name} is there")
    same((await c.client.execute(spec(cmd="echo back"), ctx)).stdout, "back", "and executes")


@scenario
async def mistakes(c):
    """A box_init that is refused leaves everything as it was"""
    ctx = context()

    async def limits():
        return (await c.client.get_status(ctx))["limits"]

    await c.client.init({"backend": "local", "local": LOCAL, "limits": {"max_sessions": 7, "max_managed_processes": 1}})
    before = await limits()
    same((before["max_sessions"], before["max_managed_processes"]), (7, 1), "limits are taken")
    for given, text in (
        ("many", "ValueError: box.limits must be an object"),
        ({"max_sessions": "7"}, "ValueError: box.limits.max_sessions must be an integer"),
        ({"max_sessions": True}, "ValueError: box.limits.max_sessions must be an integer"),
        ({"max_sessions": 5001}, "ValueError: box.limits.max_sessions must be between 0 and 5000"),
        ({"max_managed_processes": 3, "max_rpc_file_bytes": 0}, "ValueError: box.limits.max_rpc_file_bytes must be between 1 and 104857600"),
    ):
        await raises(c.client.init({"backend": "docker", "limits": given}), BoxError, text, text)
        same(await limits(), before, "the limits are as they were")
        same((await c.client.get_backend_info())["name"], "native", "and so is the backend")
    await raises(c.client.init({"local": LOCAL | {"default_workspace": "/elsewhere"}}), BoxValidationError, "box.local.default_workspace is outside allowed_mount_roots: ", "a default workspace that is nobody's")
    ok(not os.path.exists("/elsewhere"), "is not made")
    same((await c.client.execute(spec(cmd="echo on"), ctx)).stdout, "on", "commands run as before")


@scenario
async def capacity(c):
    """One managed process at most; the same id again is no second one"""
    ctx = context()
    await c.client.create_session(spec(), ctx)
    for _ in range(2):
        p = await c.client.start_managed_process("s", process("sleep", "1000"), ctx)
        same(p.status.value, "running", "started in place of the one before")
    await raises(c.client.start_managed_process("s", process("cat", process_id="other"), ctx), BoxCapacityExceededError, "Box managed process capacity reached (1)", "another id is one too many")
    await c.client.init({"limits": {"max_sessions": 64, "max_managed_processes": 64}})


@scenario
async def volume(c):
    """box_verify_shared_workspace: both sides see the same files"""
    await c.client.init({"backend": "local", "local": LOCAL})
    name = ".langbot-box-volume-probe-" + secrets.token_hex(16)
    path, data = f"{SHARED}/default/{name}", secrets.token_bytes(64)

    def put(content):
        with open(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as f:
            f.write(content)

    async def refused(marker, text):
        await raises(c.client.verify_shared_workspace(marker), BoxReadinessError, text, text)

    put(data)
    same(await c.client.verify_shared_workspace(name), {"marker_name": name, "sha256": hashlib.sha256(data).hexdigest(), "size": 64}, "what LangBot wrote is what boxd reads")
    put(b"")
    await refused(name, "Box shared Workspace probe has an invalid size")
    put(b"x" * 1025)
    await refused(name, "Box shared Workspace probe has an invalid size")
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    await refused(name, "Box Runtime cannot read the Core shared Workspace probe")
    os.unlink(path)
    os.mkdir(path)
    await refused(name, "Box shared Workspace probe is not a regular file")
    os.rmdir(path)
    await refused(name, "Box Runtime cannot read the Core shared Workspace probe")
    for bad in ("../" + name, name + "/", ".langbot-box-volume-probe-" + "A" * 32, ""):
        await refused(bad, "Invalid Box shared Workspace probe basename")


run()
