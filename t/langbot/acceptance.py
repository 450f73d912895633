"""What upstream's own black-box suites assert, over the wire."""

import asyncio

import websockets
from harness import *
from langbot_plugin.box.errors import BoxError, BoxManagedProcessNotFoundError, BoxSessionConflictError, BoxSessionNotFoundError, BoxValidationError


@scenario
async def hello(c):
    """echo hello-box"""
    ctx = context()
    r = await c.client.execute(spec(cmd="echo hello-box"), ctx)
    same(r.status.value, "completed", "completed")
    same((r.exit_code, r.stdout, r.stderr), (0, "hello-box", ""), "exit code and output")
    same(r.session_id, "s", "the logical id comes back")
    ok(isinstance(r.duration_ms, int), "duration is a number")
    r = await c.client.execute(spec(cmd="echo out; echo err >&2; exit 3"), ctx)
    same((r.exit_code, r.stdout, r.stderr), (3, "out", "err"), "a failure is a result")


@scenario
async def files_stay(c):
    """/tmp survives from one exec to the next"""
    ctx = context()
    await c.client.execute(spec(cmd="echo kept > /tmp/testfile.txt"), ctx)
    r = await c.client.execute(spec(cmd="cat /tmp/testfile.txt"), ctx)
    same(r.stdout, "kept", "a second exec of the session sees it")


@scenario
async def heredocs(c):
    """LangBot's tools are scripts in heredocs"""
    ctx = context()
    r = await c.client.execute(spec(cmd="cat <<'EOF'\n$HOME `x` \"y\"\n\u00e4\u6f22\nEOF\ncd /\npwd"), ctx)
    same(r.stdout, '$HOME `x` "y"\n\u00e4\u6f22\n/', "verbatim")
    r = await c.client.execute(spec(cmd="python3 - <<'LBPY'\nprint(6 * 7)\nLBPY"), ctx)
    same((r.exit_code, r.stdout), (0, "42"), "python3 reads its script")
    r = await c.client.execute(spec(cmd="pwd; echo $A", workdir="/tmp/new/dir", env={"A": "b c"}), ctx)
    same(r.stdout, "/tmp/new/dir\nb c", "workdir is made, env is set")


@scenario
async def timeout(c):
    """A timeout kills, tells what came, and drops the session"""
    ctx = context()
    r = await c.client.execute(spec(cmd="echo part; sleep 120", timeout_sec=1), ctx)
    same((r.status.value, r.exit_code, r.stdout), ("timed_out", None, "part"), "status, code, output so far")
    same(r.stderr, "Command timed out after 1 seconds.", "said so")
    same(await c.client.get_sessions(ctx), [], "the session is not listed any more")
    r = await c.client.execute(spec(cmd="echo again"), ctx)
    same(r.stdout, "again", "the next exec has a fresh one")


@scenario
async def timeout_beside_processes(c):
    """A timeout leaves a session alone in which managed processes run"""
    ctx = context()
    await c.client.create_session(spec(), ctx)
    await c.client.start_managed_process("s", process("sleep", "1000"), ctx)
    r = await c.client.execute(spec(cmd="sleep 120 & wait", timeout_sec=1), ctx)
    same(r.status.value, "timed_out", "timed out")
    p = await c.client.get_managed_process("s", action_context=ctx)
    same(p.status.value, "running", "the process runs on")
    await c.client.delete_session("s", ctx)


@scenario
async def no_network(c):
    """network: off"""
    r = await c.client.execute(spec(cmd="python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80), 5)\""), context())
    ok(r.exit_code != 0, "nothing can be reached")


@scenario
async def managed(c):
    """Managed processes: running, exited, stopped"""
    ctx = context()
    await c.client.create_session(spec(), ctx)
    s = await c.client.get_session("s", ctx)
    same(s["image"], spec().image, "image as requested")
    ok("managed_process" not in s and "managed_processes" not in s, "no process is told before a start")
    p = await c.client.start_managed_process("s", process("sh", "-c", "while true; do sleep 1; done", env={"B": "1", "A": "2"}), ctx)
    same((p.status.value, p.command, p.args), ("running", "sh", ["-c", "while true; do sleep 1; done"]), "started")
    same(p.env_keys, ["A", "B"], "names of its environment, sorted")
    p = await c.client.get_managed_process("s", action_context=ctx)
    same((p.status.value, p.command, p.session_id), ("running", "sh", "s"), "asked again")
    s = await c.client.get_session("s", ctx)
    same(s["managed_process"]["status"], "running", "the session tells it")
    same(list(s["managed_processes"]), ["default"], "in both ways")
    same((await c.client.get_status(ctx))["managed_processes"], 1, "status counts it")
    await c.client.start_managed_process("s", process("sh", "-c", "echo done && exit 0", process_id="short"), ctx)

    async def short():
        return await c.client.get_managed_process("s", "short", ctx)

    async def exited():
        return (await short()).status.value == "exited"

    await eventually(exited, "one that ends by itself is exited")
    same((await short()).exit_code, 0, "with its code")
    await c.client.start_managed_process("s", process("no-such-program", process_id="missing"), ctx)

    async def missing():
        p = await c.client.get_managed_process("s", "missing", ctx)
        return p.status.value == "exited" and p.exit_code == 127

    await eventually(missing, "a missing program is exited with 127")
    await c.client.stop_managed_process("s", "short", ctx)
    await raises(short(), BoxManagedProcessNotFoundError, "process_id=short", "stopping an ended one forgets it")
    await c.client.start_managed_process("s", process("false", process_id="short"), ctx)

    async def failed():
        return ((await short()).status.value, (await short()).exit_code) == ("exited", 1)

    await eventually(failed, "false is exited with 1")
    await c.client.stop_managed_process("s", "short", ctx)
    await raises(short(), BoxManagedProcessNotFoundError, "process_id=short", "and forgotten when it is stopped")
    await c.client.stop_managed_process("s", action_context=ctx)
    await raises(c.client.get_managed_process("s", action_context=ctx), BoxManagedProcessNotFoundError, "process_id=default", "stopped and forgotten")
    await c.client.start_managed_process("s", process("sleep", "1000"), ctx)
    await c.client.delete_session("s", ctx)
    await raises(c.client.get_session("s", ctx), BoxSessionNotFoundError, "not found", "delete takes a session with a running process")


@scenario
async def replaced(c):
    """The same process_id twice: the first ends"""
    ctx = context()
    await c.client.create_session(spec(), ctx)
    await c.client.start_managed_process("s", process("sh", "-c", "echo one > /tmp/who; exec sleep 1000"), ctx)
    await c.client.start_managed_process("s", process("sh", "-c", "echo two > /tmp/who; exec sleep 1000"), ctx)

    async def two():
        return (await c.client.execute(spec(cmd="cat /tmp/who; pgrep -c sleep"), ctx)).stdout == "two\n1"

    await eventually(two, "only the second runs")


@scenario
async def stderr_preview(c):
    """stderr is previewed, a burst too"""
    ctx = context()
    await c.client.create_session(spec(), ctx)
    await c.client.start_managed_process("s", process("sh", "-c", "head -c 5000 /dev/zero | tr '\\0' x >&2; echo end >&2; exec sleep 1000"), ctx)

    async def seen():
        return (await c.client.get_managed_process("s", action_context=ctx)).stderr_preview.rstrip().endswith("xxxend")

    await eventually(seen, "the end of it is there")
    ok(len((await c.client.get_managed_process("s", action_context=ctx)).stderr_preview) <= 4000, "4000 characters at most")


@scenario
async def conflicts(c):
    """Another spec for the same session"""
    ctx = context()
    await c.client.create_session(spec(cpus=1.0), ctx)
    for more, text in (
        ({"cpus": 2.0}, "cpus=1.0"),
        ({"image": "other:latest"}, "image=rockchin/langbot-sandbox:latest"),
        ({"persistent": True}, "persistent=False"),
        ({"memory_mb": 256}, "memory_mb=128"),
        ({"pids_limit": 64}, "pids_limit=128"),
        ({"read_only_rootfs": False}, "read_only_rootfs=True"),
        ({"workspace_quota_mb": 5}, "workspace_quota_mb=0"),
        ({"host_path": "/tmp", "workdir": "/workspace"}, "host_path=None"),
        ({"mount_path": "/other", "workdir": "/other"}, "mount_path=/workspace"),
        ({"host_path_mode": "ro"}, "host_path_mode=rw"),
        ({"network": "on"}, "network=off"),
    ):
        await raises(c.client.execute(spec(cmd="true", **more), ctx), BoxSessionConflictError, f"already exists with {text}", f"{text} is kept")
    r = await c.client.execute(spec(cmd="echo still"), ctx)
    same(r.stdout, "still", "the session is unharmed")


@scenario
async def listing(c):
    """Sessions and status"""
    ctx = context()
    for name in ("a", "b"):
        await c.client.create_session(spec(name, persistent=True), ctx)
    sessions = await c.client.get_sessions(ctx)
    same(sorted(s["session_id"] for s in sessions), ["a", "b"], "listed by logical id")
    keys = "session_id backend_name backend_session_id image network host_path host_path_mode mount_path persistent cpus memory_mb pids_limit read_only_rootfs workspace_quota_mb created_at last_used_at status".split()
    same([k for k in sessions[0] if k != "notice"], keys, "every key in order")
    contains(sessions[0]["notice"], "is not in the store", "and ours: the image is missing")
    status = await c.client.get_status(ctx)
    same(status["active_sessions"], 2, "counted")
    same(status["backend"], {"name": "native", "available": True}, "backend")
    same(list(status["limits"]), "max_sessions max_managed_processes max_completed_processes max_admission_records max_rpc_file_bytes".split(), "limits")
    same(list(status), "backend active_sessions managed_processes session_ttl_sec limits capacity".split(), "and what it could have")
    same(await c.client.get_backend_info(), {"name": "native", "available": True}, "backend info")
    await c.client.initialize()
    ok(True, "health")


@scenario
async def ids(c):
    """Ids as upstream maps them"""
    ctx = context()
    r = await c.client.execute(spec("\u7fa4\u804a 42/a", "true"), ctx)
    same(r.session_id, "42-a", "what is left of it is told")
    r = await c.client.execute(spec("42 a", "true"), ctx)
    same(r.session_id, "42-a", "the same session by another spelling")
    same(len(await c.client.get_sessions(ctx)), 1, "one session")
    await raises(c.client.execute(spec("!!!", "true"), ctx), BoxValidationError, "Box session_id must contain a valid character", "nothing left is an error")
    exc = await raises(c.client.get_session("x" * 5000, ctx), BoxSessionNotFoundError, "... [protocol error truncated]", "an endless id")
    ok("BoxSessionNotFoundError: session" in str(exc), "with its class")


@scenario
async def invalid(c):
    """What the server refuses of a spec the client does not check"""
    ctx = context()
    call = c.handler.call_action
    from langbot_plugin.box.actions import LangBotToBoxAction as A

    async def bad(data, part, name):
        try:
            await call(A.EXEC, data, timeout=30, action_context=ctx)
            ok(False, name)
        except Exception as exc:
            contains(str(exc), part, name)

    await bad({}, "session_id\n  Field required", "no session_id")
    await bad({"session_id": "s", "cmd": " "}, "BoxValidationError: cmd must not be empty", "no cmd")
    await bad({"session_id": "s", "cmd": "x", "workdir": "rel", "timeout_sec": "abc"}, "BoxValidationError: 2 validation errors for BoxSpec\nworkdir\n  Value error, workdir must be an absolute path inside the sandbox", "two at once")
    await bad({"session_id": "s", "cmd": "x", "timeout_sec": 0}, "timeout_sec must be greater than 0", "timeout")
    await bad({"session_id": "s", "cmd": "x", "network": "maybe"}, "Input should be 'off' or 'on'", "enum")
    await bad({"session_id": "s", "cmd": "x", "env": {"A": 1}}, "env.A", "env")
    await bad({"session_id": "s", "cmd": "x", "memory_mb": 8}, "memory_mb must be at least 32", "memory")
    r = await call(A.EXEC, {"session_id": "s", "cmd": "echo x", "workdir": "/tmp", "timeout_sec": " 12 ", "cpus": "1", "persistent": "no", "unknown": 1}, timeout=30, action_context=ctx)
    same(r["stdout"], "x", "strings are coerced, unknown keys ignored")


@scenario
async def output(c):
    """Output: stripped, decoded, clipped and said so"""
    ctx = context()
    r = await c.client.execute(spec(cmd="head -c 1048580 /dev/zero | tr '\\0' a"), ctx)
    ok(r.stdout.endswith("\n... [raw output clipped at 1048576 bytes, 4 bytes discarded]"), "the notice")
    same(len(r.stdout), 1048637, "its length")
    r = await c.client.execute(spec(cmd="printf '\\377\\376ab\\n\\n'"), ctx)
    same(r.stdout, "\ufffd\ufffdab", "invalid bytes are shown")
    r = await c.client.execute(spec(cmd="printf ' \\t x \\n '; kill -9 $$"), ctx)
    same((r.stdout, r.exit_code), ("x", 137), "stripped; killed by a signal")


@scenario
async def parallel(c):
    """Execs of one session and of many run at the same time"""
    ctx = context()
    many = [c.client.execute(spec(f"p{i % 4}", f"sleep 0.2; echo {i}"), ctx) for i in range(40)]
    same([r.stdout for r in await asyncio.gather(*many)], [str(i) for i in range(40)], "each gets its own answer")


@scenario
async def limits(c):
    """What a limit ends is told in one line of stderr"""
    ctx = context()
    r = await c.client.execute(spec(cmd="python3 -c 'x = bytearray(1 << 30)'", memory_mb=64), ctx)
    ok(r.exit_code != 0, "memory: it is refused")
    r = await c.client.execute(spec("pids", cmd="for i in $(seq 100); do sleep 9 & done; wait", pids_limit=16, timeout_sec=5), ctx)
    ok(r.exit_code != 0 or r.status.value == "timed_out", "pids: it is refused")


@scenario
async def two_workspaces(c):
    """Two workspaces never see each other"""
    a, b = context(), context()
    await c.client.execute(spec("s", "echo secret > /tmp/f"), a)
    r = await c.client.execute(spec("s", "cat /tmp/f"), b)
    ok(r.exit_code != 0 and "secret" not in r.stdout, "the same id is another sandbox")
    await c.client.create_session(spec("only-a"), a)
    same(sorted(s["session_id"] for s in await c.client.get_sessions(b)), ["s"], "not listed")
    await raises(c.client.get_session("only-a", b), BoxSessionNotFoundError, "not found", "not found by name")
    physical = next(s["backend_session_id"] for s in await c.client.get_sessions(a) if s["session_id"] == "only-a")
    await raises(c.client.get_session(physical, b), BoxSessionNotFoundError, "not found", "nor by its full name")
    await raises(c.client.delete_session("only-a", b), BoxSessionNotFoundError, "not found", "not deleted")
    await raises(c.client.execute(spec(cmd="true"), context(instance="other")), BoxError, "PermissionError: Box action context does not match the trusted instance", "another instance")
    await raises(c.client.execute(spec(cmd="true")), BoxError, "PermissionError: Box tenant action requires a trusted Workspace context", "no context")


@scenario
async def generations(c):
    """A new generation retires the old one"""
    import uuid

    ws = str(uuid.uuid4())
    one, two = context(ws, 1), context(ws, 2)
    await c.client.create_session(spec(persistent=True), one)
    await c.client.start_managed_process("s", process("cat"), one)
    url = c.client.get_managed_process_websocket_url("s", RELAY_BASE, "default", one)
    relay = await websockets.connect(url, additional_headers=relay_headers(one), subprotocols=["mcp"], proxy=None)
    old = asyncio.create_task(c.client.execute(spec("other", "sleep 100"), one))

    async def running():
        return len(await c.client.get_sessions(one)) == 2

    await eventually(running, "an exec runs in generation 1")
    same(await c.client.get_sessions(two), [], "generation 2 begins with nothing")
    try:
        await asyncio.wait_for(relay.recv(), EVENTUALLY_SEC)
        ok(False, "the relay is closed")
    except websockets.ConnectionClosed as closed:
        same(closed.rcvd.code, 1000, "the relay is closed")
    await raises(old, BoxError, "", "the old exec is cancelled")
    await raises(c.client.get_sessions(one), BoxError, "PermissionError: Stale Box placement generation", "generation 1 is refused")
    try:
        await websockets.connect(url, additional_headers=relay_headers(one), subprotocols=["mcp"], proxy=None)
        ok(False, "its relay too")
    except websockets.InvalidStatus as exc:
        same(exc.response.status_code, 401, "its relay too")


@scenario
async def mounts(c):
    """Extra mounts: another set is another sandbox"""
    import os
    import tempfile

    with tempfile.TemporaryDirectory(dir=os.environ["BOX_SHARED"]) as d:
        os.chmod(d, 0o777)
        for n in "ab":
            os.mkdir(f"{d}/{n}", 0o777)
            open(f"{d}/{n}/name", "w").write(n)
        ctx = context()
        a = {"host_path": f"{d}/a", "mount_path": "/mnt/a", "mode": "ro"}
        none = {"host_path": f"{d}/b", "mount_path": "/mnt/b", "mode": "none"}
        r = await c.client.execute(spec(cmd="cat /mnt/a/name; touch /tmp/mark; touch /mnt/a/x", extra_mounts=[a]), ctx)
        same(r.stdout, "a", "mounted")
        ok(r.exit_code != 0, "read-only")
        r = await c.client.execute(spec(cmd="ls /tmp/mark", extra_mounts=[none, a, a]), ctx)
        same(r.exit_code, 0, "the same set: the same sandbox")
        r = await c.client.execute(spec(cmd="ls /tmp/mark; ls /mnt/a/name"), ctx)
        same((r.stdout, r.exit_code != 0), ("/tmp/mark", True), "another set: the same sandbox, without the mount")
        r = await c.client.execute(spec("host", "echo hi > /workspace/out; pwd", host_path=f"{d}/b", workdir="/workspace"), ctx)
        same((r.stdout, open(f"{d}/b/out").read()), ("/workspace", "hi\n"), "host_path is the workspace")
        await raises(c.client.execute(spec("etc", "true", host_path="/etc", workdir="/workspace"), ctx), BoxValidationError, "/etc", "a blocked path")


@scenario
async def shutdown_and_after(c):
    """box_shutdown drops the sessions; the runtime goes on"""
    ctx = context()
    await c.client.create_session(spec(persistent=True), ctx)
    handler = c.handler
    await c.client.shutdown()
    c.client.set_handler(handler)
    same(await c.client.get_sessions(ctx), [], "nothing is left")
    r = await c.client.execute(spec(cmd="echo on"), ctx)
    same(r.stdout, "on", "and it serves")


run()
