"""Ten sequences of calls that a server of today's protocol must get right, by LangBot's own client.

They can be tried with upstream's server too, in which the commands of a session wait for each other: BOX_SERIAL=1.
"""

import asyncio
import datetime
import json
import os
import shutil
import tempfile

import websockets
from artifact import mount, publish
from harness import *
from langbot_plugin.box.errors import BoxAdmissionError, BoxError
from langbot_plugin.box.models import SandboxAdmissionGrant

SHARED = os.environ["BOX_SHARED"]
BACKEND = os.environ.get("BOX_BACKEND", "local")
SERIAL = bool(os.environ.get("BOX_SERIAL"))


def directory():
    d = tempfile.mkdtemp(dir=SHARED)
    os.chmod(d, 0o777)
    return d


def open_up(*paths):
    """For a boxd that is not root: what inside writes here is another user."""
    for path in paths:
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o777)


class Box:
    """A session whose /workspace is self.dir, so that the test can look in and give signs."""

    def __init__(self, client, **more):
        self.client, self.ctx, self.dir, self.more = client, context(), directory(), more

    def spec(self, cmd="", mounts=(), **more):
        told = {"workdir": "/workspace", "host_path": self.dir, "extra_mounts": list(mounts), "timeout_sec": 100}
        return spec("s", cmd, **(told | self.more | more))

    async def create(self, **more):
        return await self.client.create_session(self.spec(**more), self.ctx)

    async def run(self, cmd, mounts=(), **more):
        return await self.client.execute(self.spec(cmd, mounts, **more), self.ctx)

    async def says(self, cmd, mounts=(), **more):
        return (await self.run(cmd, mounts, **more)).stdout

    async def sessions(self):
        return await self.client.get_sessions(self.ctx)

    def sign(self, name):
        open(f"{self.dir}/{name}", "w").close()

    async def seen(self, name, what):
        await eventually(lambda: os.path.exists(f"{self.dir}/{name}"), what)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc):
        try:
            await self.client.delete_session("s", self.ctx)
        except BoxError:
            pass
        shutil.rmtree(self.dir, ignore_errors=True)


def revision(n):
    return publish(directory(), {"SKILL.md": f"# skill {n}\n", "scripts/run.sh": f"echo ran {n}\n"}, ["scripts/run.sh"])


# Of a process: its number and when it began, which together are nobody else's.
WHO = "echo $p $(cut -d' ' -f22 /proc/$p/stat)"


@scenario
async def mounts_come_and_go(c):
    """1: mounts come and go, the sandbox stays"""
    one, two = revision(1), revision(2)
    async with Box(c.client) as b:
        await b.create()
        mark = await b.says("f=$(mktemp /tmp/k-XXXXXX); echo kept > $f; echo $f")
        background = await b.says(f"sleep 1000 >/dev/null 2>&1 </dev/null & p=$!; echo $p > /workspace/background; {WHO}")
        await c.client.start_managed_process("s", process("sh", "-c", "echo $$ > /workspace/managed; exec cat", cwd="/workspace"), b.ctx)
        await b.seen("managed", "a managed process")
        managed = await b.says(f"p=$(cat /workspace/managed); {WHO}")

        async def all_there(mounts, what):
            r = await b.run(f"cat {mark}; for f in background managed; do p=$(cat /workspace/$f); {WHO}; done", mounts)
            same(r.stdout, f"kept\n{background}\n{managed}", f"{what}: /tmp, a background process and a managed one are as before")
            for m in mounts:
                contains(await b.says(f"cat {m['mount_path']}/SKILL.md; sh {m['mount_path']}/scripts/run.sh", mounts), "ran ", f"{what}: the mount is there")

        await all_there([], "no mount")
        await all_there([one], "one mount")
        await all_there([one, two], "two mounts")
        await all_there([two], "the other one")
        await all_there([], "none again")
        same((await c.client.get_managed_process("s", action_context=b.ctx)).status.value, "running", "the managed process never ended")
        await b.says(f"rm {mark}; kill $(cat /workspace/background)")


@scenario
async def different_sets_at_once(c):
    """2: two commands with different mounts at the same time"""
    one = revision(1)
    async with Box(c.client) as b:
        a = asyncio.create_task(b.run(f"touch /workspace/a; until [ -e /workspace/go ]; do sleep 0.05; done; cat {one['mount_path']}/SKILL.md", [one]))
        await b.seen("a", "a command with a mount runs")
        other = asyncio.create_task(b.run("echo other"))
        if SERIAL:
            b.sign("go")
        same((await other).stdout, "other", "one without answers meanwhile")
        b.sign("go")
        same((await a).stdout, "# skill 1", "and the first has its mount to the end")


@scenario
async def read_only(c):
    """3: a digest-addressed mount is read-only"""
    one = revision(1)
    async with Box(c.client) as b:
        r = await b.run(f"touch {one['mount_path']}/new || echo x > {one['mount_path']}/SKILL.md || rm -f {one['mount_path']}/SKILL.md", [one])
        ok(r.exit_code != 0, "nothing is made, changed or removed")
        contains(r.stderr, "Read-only file system", "and the kernel says why")
        same(sorted(os.listdir(one["host_path"])), ["SKILL.md", "scripts"], "the source is as it was")


@scenario
async def wrong_digest(c):
    """4: a manifest with another digest"""
    one, two = revision(1), revision(2)
    wrong = mount(os.path.dirname(one["manifest_path"]), two["content_digest"])
    async with Box(c.client) as b:
        await b.create()
        for _ in range(2):
            await raises(b.run("touch /workspace/ran", [wrong]), BoxError, "BoxError: Immutable artifact preparation failed: Artifact manifest does not match content_digest", "is refused")
        ok(not os.path.exists(f"{b.dir}/ran"), "the command does not run")
        same(await b.says("ls -A /opt/langbot-artifacts 2>/dev/null"), "", "nothing is below /opt/langbot-artifacts")
        same([s["session_id"] for s in await b.sessions()], ["s"], "the session is still listed")
        same(await b.says("echo on"), "on", "and goes on")
        same(await b.says(f"cat {one['mount_path']}/SKILL.md", [one]), "# skill 1", "the right digest works")


@scenario
async def ordinary_mount(c):
    """5: an ordinary mount is there for the exec that names it"""
    d = directory()
    open_up(f"{d}/data")
    open(f"{d}/data/name", "w").write("ordinary")
    writable = {"host_path": f"{d}/data", "mount_path": "/workspace/.skills/data", "mode": "rw"}  # as LangBot did until 4.11.0
    fixed = {"host_path": f"{d}/data", "mount_path": "/mnt/data", "mode": "ro"}
    async with Box(c.client) as b:
        await b.create()
        mark = await b.says("f=$(mktemp /tmp/k-XXXXXX); echo kept > $f; echo $f")
        same(await b.says(f"cat {mark} /workspace/.skills/data/name; echo x > /workspace/.skills/data/made", [writable]), "kept\nordinary", "the mount for this exec, in the same sandbox")
        ok(os.path.exists(f"{d}/data/made"), "it is writable")
        r = await b.run(f"cat {mark}; cat /workspace/.skills/data/name")
        same((r.stdout, r.exit_code != 0), ("kept", True), "gone for the next, in the same sandbox")
        r = await b.run(f"cat {mark} /mnt/data/made; ls /workspace/.skills/data; touch /mnt/data/new", [fixed])
        same((r.stdout, r.exit_code != 0, os.path.exists(f"{d}/data/new")), ("kept\nx", True, False), "elsewhere and read-only")
        same(await b.says(f"cat {mark} /workspace/.skills/data/made /mnt/data/made", [writable, fixed]), "kept\nx\nx", "both")
        await b.says(f"rm {mark}")
    shutil.rmtree(d)


@scenario
async def running_and_idle(c):
    """6: a session is running while it executes, idle after"""
    async with Box(c.client) as b:
        same((await b.create())["status"], "idle", "new: idle")
        a = asyncio.create_task(b.run("touch /workspace/a; until [ -e /workspace/go ]; do sleep 0.05; done"))
        await b.seen("a", "a command runs")
        same([s["status"] for s in await b.sessions()], ["running"], "listed as running")
        same((await c.client.get_session("s", b.ctx))["status"], "running", "asked for by name too")
        b.sign("go")
        await a
        same([s["status"] for s in await b.sessions()], ["idle"], "then idle")
        await c.client.start_managed_process("s", process("sleep", "1000", cwd="/workspace"), b.ctx)
        s = (await b.sessions())[0]
        same(s["status"], "idle", "a managed process does not count")
        keys = list(s)
        same(keys[-1], "status", "status is the last key")


@scenario
async def disconnect(c):
    """7: a command outlives the connection it came from"""
    lost = Connection()
    await lost.__aenter__()
    async with Box(c.client) as b:
        gone = asyncio.create_task(lost.client.execute(b.spec("touch /workspace/a; until [ -e /workspace/go ]; do sleep 0.05; done; echo finished > /workspace/done"), b.ctx))
        await b.seen("a", "a command runs")
        await lost.__aexit__()
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        if not SERIAL:
            same(await b.says("echo new"), "new", "its connection is closed; another one works")
        same([s["status"] for s in await b.sessions()], ["running"], "the session still runs it")
        b.sign("go")
        await b.seen("done", "the command comes to its end")

        async def idle():
            return [s["status"] for s in await b.sessions()] == ["idle"]

        await eventually(idle, "and the session is idle")
        same(await b.says("cat /workspace/done"), "finished", "the next command finds what it wrote")


@scenario
async def cancel(c):
    """8: __cancel_action"""

    async def ask(ws, seq, action, data, ctx):
        message = {"seq_id": seq, "action": action, "data": data}
        await ws.send(json.dumps(message | ({"context": ctx.model_dump(exclude_none=True)} if ctx else {})))

    async def answer(ws):
        return json.loads(await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC))

    async with Box(c.client) as b, websockets.connect(RPC_URL, additional_headers=headers(), proxy=None) as ws:
        await ask(ws, 1, "box_exec", b.spec("echo $$ > /workspace/pid; touch /workspace/a; sleep 1000; touch /workspace/survived").model_dump(mode="json"), b.ctx)
        await b.seen("a", "a command runs")
        for ctx, data, reply in (
            (context(), {"seq_id": 1}, (0, {"cancelled": False})),
            (context(b.ctx.workspace_uuid, 1), {"seq_id": 99}, (0, {"cancelled": False})),
            (b.ctx, {"seq_id": 2}, (0, {"cancelled": False})),  # itself
            (b.ctx, {}, "ValueError: Cancellation requires an integer seq_id"),
            (b.ctx, {"seq_id": True}, "ValueError: Cancellation requires an integer seq_id"),
            (b.ctx, {"seq_id": "1"}, "ValueError: Cancellation requires an integer seq_id"),
            (None, {"seq_id": 1}, "PermissionError: Box tenant action requires a trusted Workspace context"),
        ):
            await ask(ws, 2, "__cancel_action", data, ctx)
            r = await answer(ws)
            same(r["message"] if isinstance(reply, str) else (r["code"], r["data"]), reply, f"{data} of {'no' if ctx is None else 'its own' if ctx.workspace_uuid == b.ctx.workspace_uuid else 'another'} workspace")
        same([s["status"] for s in await b.sessions()], ["running"], "the command runs on")
        await ask(ws, 3, "__cancel_action", {"seq_id": 1}, b.ctx)
        r = await answer(ws)
        same((r["seq_id"], r["code"], r["data"]), (3, 0, {"cancelled": True}), "its own workspace cancels it")

        async def idle():
            return [s["status"] for s in await b.sessions()] == ["idle"]

        await eventually(idle, "the session is idle again")
        r = await b.run("kill -0 $(cat /workspace/pid)")
        ok(r.exit_code != 0, "the command is gone")
        await ask(ws, 4, "__cancel_action", {"seq_id": 1}, b.ctx)
        r = await answer(ws)
        same((r["seq_id"], r["data"]), (4, {"cancelled": False}), "no reply to it came between; it cannot be cancelled twice")
        ok(not os.path.exists(f"{b.dir}/survived"), "nor did it go on")


HOST_ENTRIES = ["workspace", "mcp", "inbox", "outbox"]
SESSION_ENTRIES = ["session_workspaces", "session_caches", "session_temp"]


@scenario
async def storage(c):
    """9: storage analysis"""
    d = directory()
    open_up(f"{d}/default")
    await c.client.init({"backend": BACKEND, "local": {"host_root": d, "default_workspace": "default", "allowed_mount_roots": [SHARED]}})
    ctx = context()

    async def analysis():
        r = await c.client.get_storage_analysis(ctx)
        same(list(r), ["size_bytes", "directories", "active_sessions", "managed_processes"], "keys in order")
        same(r["size_bytes"], sum(e["size_bytes"] for e in r["directories"] if e["kind"] == "root"), "the size is that of its roots")
        return r

    r = await analysis()
    same([e["key"] for e in r["directories"]], HOST_ENTRIES, "no session: four entries")
    same([e["exists"] for e in r["directories"]], [False] * 4, "which do not exist")
    same(list(r["directories"][0]), "key path kind exists size_bytes file_count error_count scope".split(), "keys of a root")
    same(list(r["directories"][1]), "key path kind exists size_bytes file_count error_count parent_key scope".split(), "keys of a detail")
    same((r["active_sessions"], r["managed_processes"]), (0, 0), "nothing is counted")
    own = r["directories"][0]["path"]
    ok(os.path.dirname(own) == f"{d}/default/tenants" and os.path.basename(own).startswith("ws-"), "the workspace's own directory")
    open_up(f"{d}/default/tenants", own, f"{own}/inbox")
    with open(f"{own}/a", "w") as f:
        f.write("0123456789")
    os.link(f"{own}/a", f"{own}/linked")
    os.symlink("a", f"{own}/relative")
    os.symlink("/etc", f"{own}/absolute")
    os.mkfifo(f"{own}/fifo")
    with open(f"{own}/inbox/f", "w") as f:
        f.write("01234")
    with open(f"{own}/sparse", "w") as f:
        f.truncate(1000000)
    r = await analysis()
    same([(e["exists"], e["size_bytes"], e["file_count"], e["error_count"]) for e in r["directories"]], [(True, 1000030, 7, 0), (False, 0, 0, 0), (True, 5, 1, 0), (False, 0, 0, 0)], "counted as upstream counts")
    await c.client.create_session(spec(), ctx)
    before = (await c.client.get_sessions(ctx))[0]
    r = await analysis()
    after = (await c.client.get_sessions(ctx))[0]
    same((after["last_used_at"], after["status"]), (before["last_used_at"], "idle"), "looking is no use of the session")
    same([e["key"] for e in r["directories"]], HOST_ENTRIES + SESSION_ENTRIES, "a session without host_path: seven")
    same([(e["path"], e["kind"], e["scope"]) for e in r["directories"][4:]], [(f"{p} (1 sandbox sessions)", "root", "sandbox_sessions") for p in ("/workspace", "/root/.cache", "/tmp")], "its directories")
    await c.client.start_managed_process("s", process("sleep", "1000"), ctx)
    r = await analysis()
    same([e["key"] for e in r["directories"]], HOST_ENTRIES + SESSION_ENTRIES + ["managed_process_workspaces"], "with a managed process: eight")
    last = r["directories"][7]
    same(list(last), "key path kind parent_key exists size_bytes file_count error_count scope".split(), "keys of that detail")
    same((last["path"], last["kind"], last["parent_key"]), ("/workspace (1 managed-process sessions)", "detail", "session_workspaces"), "and what it says")
    same((r["active_sessions"], r["managed_processes"]), (1, 1), "both are counted")
    await c.client.delete_session("s", ctx)
    await c.client.init({"backend": BACKEND, "local": {"host_root": SHARED, "default_workspace": "default", "allowed_mount_roots": [SHARED]}})
    shutil.rmtree(d)


@scenario
async def admitted(c):
    """10: read-only mounts of an admitted sandbox"""
    if SERIAL:
        skip("read-only mounts of an admitted sandbox", "upstream's host backend cannot be admitted")
        return
    local = {"host_root": SHARED, "default_workspace": "default", "skills_root": "skills", "allowed_mount_roots": [SHARED]}
    await c.client.init({"backend": "local", "local": local, "admission": {"required": True, "memory_mb": 128, "pids_limit": 64, "workspace_quota_mb": 16, "max_timeout_sec": 60}})
    ctx, d = context(), directory()
    open_up(f"{d}/data")
    open(f"{d}/data/name", "w").write("granted")
    open(f"{d}/file", "w").close()
    await raises(c.client.get_status(ctx), BoxAdmissionError, "Sandbox admission grant is missing", "status without a grant")
    at = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(seconds=200)
    await c.client.upsert_sandbox_admission_grant(SandboxAdmissionGrant(instance_uuid=INSTANCE, workspace_uuid=ctx.workspace_uuid, execution_generation=1, entitlement_revision=1, expires_at=at, max_sessions=1, max_managed_processes=0))
    same((await c.client.get_status(ctx))["capacity"], {"limit": 1, "used": 0, "remaining": 1}, "room for one")
    plain = {"host_path": f"{d}/data", "mount_path": "/workspace/.data", "mode": "ro"}

    def run(*mounts, cmd="cat /workspace/.data/name; touch /workspace/.data/new"):
        return c.client.execute(spec("global", cmd, workdir="/workspace", extra_mounts=list(mounts)), ctx)

    r = await run(plain)
    same((r.stdout, r.exit_code != 0), ("granted", True), "one below /workspace: runs, and is read-only")
    same((await c.client.get_status(ctx))["capacity"], {"limit": 1, "used": 1, "remaining": 0}, "no room is left")
    one = revision(1)
    same((await run(one, cmd=f"cat {one['mount_path']}/SKILL.md")).stdout, "# skill 1", "a digest-addressed one too")
    for what, mounts, text in (
        ("writable", [plain | {"mode": "rw"}], "Managed sandbox additional mounts must be read-only"),
        ("mode none", [plain | {"mode": "none"}], "Managed sandbox additional mounts must be read-only"),
        ("the same target twice", [plain, plain], "Managed sandbox additional mount targets must be unique"),
        ("a target elsewhere", [plain | {"mount_path": "/mnt/data"}], "Managed sandbox additional mount targets must stay under /workspace"),
        ("/workspace itself", [plain | {"mount_path": "/workspace"}], "Managed sandbox additional mount targets must stay under /workspace"),
        ("a source that is missing", [plain | {"host_path": f"{d}/none"}], "Managed sandbox read-only mount source is unavailable"),
        ("a source that is a file", [plain | {"host_path": f"{d}/file"}], "Managed sandbox read-only mount source is unavailable"),
        ("a source elsewhere", [plain | {"host_path": "/usr/share"}], "Managed sandbox read-only mount source is outside allowed_mount_roots"),
        ("a manifest alone", [plain | {"manifest_path": one["manifest_path"]}], "Managed sandbox mount manifests require content_digest"),
        ("a manifest that is missing", [one | {"manifest_path": f"{d}/none.json"}], "Managed sandbox read-only mount manifest is unavailable"),
        ("a manifest elsewhere", [one | {"manifest_path": "/etc/passwd"}], "Managed sandbox read-only mount manifest is outside allowed_mount_roots"),
        ("257 of them", [plain | {"mount_path": f"/workspace/.m{i}"} for i in range(257)], "Managed sandbox accepts at most 256 read-only mounts"),
    ):
        await raises(run(*mounts), BoxAdmissionError, text, what)
    same((await run(cmd="echo on")).stdout, "on", "and it goes on")


run()
