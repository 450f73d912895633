"""What an agent of LangBot 4.11.1 and later does with its box: acquire and bind it, the six native tools, files in and out, an MCP server."""

import base64
import hashlib
import os
import signal
import subprocess
import uuid

import langbot_parts
from application import Running, context, query, run_of
from harness import contains, eventually, ok, raises, run, same, scenario
from langbot_plugin.api.entities.builtin.platform import message as pm
from langbot_plugin.box.errors import BoxValidationError
from relay_server import SERVER

BOX_OF_GROUP_1 = "runner-277b6dd5b6634da9f16166205c29ac906346368dba2a32cd1b82e11bda4a911a"


@scenario
async def runners(ap):
    """Acquire, list, bind"""
    boxes = langbot_parts.runner.RunnerBoxService(ap.box_service)
    told = await boxes.status(context())
    same((told["enabled"], told["available"], told["required_reuse_key"]), (True, True, None), "status")
    same(await boxes.sessions(context()), [], "no box at first")
    q, other = query(), query()
    for _ in range(2):
        box = await boxes.acquire(context(), {"reuse_key": "group_1", "options": {}}, q)
        same(box, {"id": BOX_OF_GROUP_1, "status": "idle"}, "acquired by its key")
    another = await boxes.acquire(context(), {"reuse_key": "group_2", "options": {"image": "python:3.11"}}, q)
    same(sorted(boxes.public_session(s)["id"] for s in await boxes.sessions(context())), sorted([BOX_OF_GROUP_1, another["id"]]), "both are listed")
    await raises(boxes.acquire(context(), {"reuse_key": "group_1", "options": {"memory_mb": 9000}}, q), BoxValidationError, "Only the Box image can be specified", "limits are not the runner's")
    await raises(ap.box_service.execute_tool({"command": "true"}, q), BoxValidationError, "Runner must bind a Box before using sandbox tools or files", "no tool before bind")
    await raises(boxes.bind(context(), q, "run-1", "runner-unknown"), BoxValidationError, "Box not found in the current Workspace", "an unknown box")
    bound = await boxes.bind(context(), q, "run-1", BOX_OF_GROUP_1)
    same(bound, {"box_id": BOX_OF_GROUP_1, "outbox": "/workspace/outbox/run-1"}, "bound")
    await raises(boxes.bind(context(), q, "run-1", another["id"]), BoxValidationError, "A run cannot change its Box after binding", "to this one only")
    await boxes.bind(context(), other, "run-2", BOX_OF_GROUP_1)
    for run_query, command, out in ((q, "echo kept > /tmp/f; cat /tmp/f", "kept"), (other, "cat /tmp/f", "kept")):
        r = await ap.box_service.execute_tool({"command": command}, run_query)
        same((r["ok"], r["stdout"]), (True, out), "runs with the same key share the sandbox")
    third = query()
    await boxes.bind(context(), third, "run-3", another["id"])
    r = await ap.box_service.execute_tool({"command": "echo of its image"}, third)
    same((r["ok"], r["stdout"]), (True, "of its image"), "what the session was made with is no conflict for its execs")


@scenario
async def native_tools(ap):
    """exec, read, write, edit, glob, grep"""
    loader = langbot_parts.native.NativeToolLoader(ap)
    await loader.initialize()
    same(sorted(t.name for t in await loader.get_tools()), ["edit", "exec", "glob", "grep", "read", "write"], "offered")
    q = await run_of(ap, "group_1")

    async def tool(name, **parameters):
        return await loader.invoke_tool(name, parameters, q)

    r = await tool("exec", command="echo out; echo err >&2; exit 3", env={"A": "b"})
    same((r["ok"], r["exit_code"], r["stdout"], r["stderr"]), (False, 3, "out", "err"), "exec")
    text = "eins\nzwei \u00e4\u4e2d 'quoted' \"twice\" $HOME `x` \\n\ndrei\n"
    r = await tool("write", path="/workspace/notes/a.txt", content=text)
    same(r["ok"], True, "write")
    same((await tool("exec", command="cat /workspace/notes/a.txt"))["stdout"], text.strip(), "as it was given")
    r = await tool("read", path="/workspace/notes/a.txt")
    same((r["ok"], r["content"]), (True, text.rstrip("\n")), "read")
    r = await tool("read", path="/workspace/notes/a.txt", offset=2, limit=1)
    same((r["start_line"], r["end_line"], r["next_offset"], r["truncated"]), (2, 2, 3, True), "one line of it")
    r = await tool("write", path="/workspace/notes/a.txt", content="vier\n", mode="append")
    r = await tool("edit", path="/workspace/notes/a.txt", old_string="drei\nvier", new_string="3\n4")
    same(r["ok"], True, "edit")
    same((await tool("read", path="/workspace/notes/a.txt", offset=3))["content"], "3\n4", "appended and edited")
    r = await tool("edit", path="/workspace/notes/a.txt", old_string="nowhere", new_string="x")
    same(r["ok"], False, "an edit that finds nothing")
    same((await tool("read", path="/workspace/none"))["ok"], False, "a missing file")
    data = bytes(range(256)) * 200
    await tool("write", path="/workspace/notes/b.bin", content=base64.b64encode(data[:30000]).decode(), encoding="base64")
    await tool("write", path="/workspace/notes/b.bin", content=base64.b64encode(data[30000:]).decode(), encoding="base64", mode="append")
    got, at = b"", 0
    while at is not None:
        r = await tool("read", path="/workspace/notes/b.bin", encoding="base64", byte_offset=at)
        got, at = got + base64.b64decode(r["content"]), r["next_byte_offset"]
    ok(got == data, "51200 bytes of every value in and out")
    r = await tool("read", path="/workspace/notes")
    same((r["is_directory"], r["content"]), (True, "a.txt\nb.bin"), "a directory")
    same((await tool("glob", pattern="**/*.txt"))["matches"], ["/workspace/notes/a.txt"], "glob")
    r = await tool("grep", pattern="zwei|3$", include="*.txt")
    same([(m["file"], m["line"]) for m in r["matches"]], [("/workspace/notes/a.txt", 2), ("/workspace/notes/a.txt", 3)], "grep")
    same((await tool("grep", pattern="(unclosed"))["ok"], False, "a pattern that is none")
    same(os.path.exists(f"{ap.box_service.workspace_host_path(context())}/notes/b.bin"), True, "they are files of the workspace's directory")


@scenario
async def files(ap):
    """Attachments in, files out"""
    boxes = langbot_parts.runner.RunnerBoxService(ap.box_service)
    picture, note = os.urandom(300000), "text\n".encode()
    chain = pm.MessageChain([pm.Plain(text="look"), pm.Image(base64="data:image/png;base64," + base64.b64encode(picture).decode()), pm.File(name="../no te.txt", base64=base64.b64encode(note).decode())])
    q = await run_of(ap, "group_1", message_chain=chain)
    r = await boxes.import_attachments(q, None)
    same([(i["type"], i["size"]) for i in r["items"]], [("Image", 300000), ("File", 5)], "imported")
    for item, data in zip(r["items"], (picture, note)):
        got = await ap.box_service.execute_tool({"command": f"sha256sum < {item['path']} | cut -d' ' -f1"}, q)
        same(got["stdout"], hashlib.sha256(data).hexdigest(), f"{item['path'].rsplit('/', 1)[1]} is inside as it was")
    outbox = langbot_parts.runner.binding_for(q).io_scope
    await ap.box_service.execute_tool({"command": f"mkdir -p /workspace/outbox/{outbox}; cd /workspace/outbox/{outbox}; head -c 500000 /dev/urandom > p.png; sha256sum < p.png; echo report > /tmp/report.txt; mkfifo /tmp/pipe; ln -s /tmp/report.txt /tmp/link"}, q)
    r = await boxes.export_files(q, [f"/workspace/outbox/{outbox}/p.png", "/tmp/report.txt"])
    same([(i["name"], i["type"], i["size"]) for i in r["items"]], [("p.png", "Image", 500000), ("report.txt", "File", 7)], "exported")
    same(r["warning"], None, "and cleaned up")
    same((await ap.box_service.execute_tool({"command": f"ls /workspace/outbox/{outbox}/p.png /tmp/report.txt"}, q))["ok"], False, "so they are gone inside")
    sent = langbot_parts.runner.exported_message(q, [r["items"][1]["id"]], consume=True)
    same(base64.b64decode(sent[0].base64), b"report\n", "what is sent is what was written")
    for path, text in (("/tmp/report.txt", "No such file"), ("/tmp/link", "Too many levels of symbolic links"), ("/tmp/pipe", "Not a regular file")):
        await raises(boxes.export_files(q, [path]), BoxValidationError, text, f"{path}: {text}")
    await ap.box_service.execute_tool({"command": "truncate -s 11M /tmp/big; head -c 900000 /dev/urandom > /tmp/cut"}, q)
    exc = await raises(boxes.export_files(q, ["/tmp/big"]), langbot_parts.part("box.export_errors").BoxExportError, "box.export.limit_exceeded", "a file over LangBot's own limit")
    contains(str(exc), '"limit_type":"file_bytes"', "which says so")


@scenario
async def cut_exports(ap):
    """An export that does not fit the output of a command"""
    boxes = langbot_parts.runner.RunnerBoxService(ap.box_service)
    q = await run_of(ap, "group_1")
    await ap.box_service.execute_tool({"command": "head -c 900000 /dev/urandom > /tmp/cut"}, q)
    exc = await raises(boxes.export_files(q, ["/tmp/cut"]), langbot_parts.part("box.export_errors").BoxExportError, "box.export.transport_truncated", "LangBot reads the notice at the end of it")
    contains(str(exc), '"limit":1048576', "and knows the limit")
    same((await ap.box_service.execute_tool({"command": "stat -c %s /tmp/cut"}, q))["stdout"], "900000", "the file is kept")


def mcp_session(ap, name):
    config = {"mode": "stdio", "uuid": str(uuid.uuid4()), "command": "python3", "args": ["-uc", SERVER], "env": {}, "box": {}}
    return langbot_parts.mcp.RuntimeMCPSession(name, config, True, ap, context())


@scenario
async def mcp(ap):
    """LangBot's MCP session, over the relay"""
    one, two = mcp_session(ap, "one"), mcp_session(ap, "two")

    async def add(session, a, b):
        return (await session.invoke_mcp_tool("add", {"a": a, "b": b}))[0].text

    for session in (one, two):
        await session.start()
        same([t.name for t in session.get_tools()], ["add"], f"{session.server_name}: connected")
        same(await add(session, 40, 2), "42", f"{session.server_name}: answers")
    long = "x" * 900000
    same(await add(one, long, "y"), long + "y", "900 kB there and back")
    listed = await ap.box_service.get_sessions(context())
    same(len(listed), 1, "both servers share a session")

    async def processes():
        told = await ap.box_service.client.get_session(listed[0]["session_id"], action_context=ap.box_service._action_context(context()))
        return list(told.get("managed_processes", {}))

    same(sorted(await processes()), sorted([one.server_uuid, two.server_uuid]), "with a process each")
    if os.environ["BOXCTL"] != "false":
        before = one._connection_generation
        gateway = subprocess.run(["pgrep", "-x", "box-gateway", "-P", os.environ["BOXD_PID"]], capture_output=True, text=True).stdout.split()
        os.kill(int(gateway[0]), signal.SIGKILL)
        await eventually(lambda: one._connection_generation > before and one.status.value == "connected", "the gateway is killed: LangBot's session connects again")
        await eventually(lambda: two.status.value == "connected" and two.session is not None, "so does the other")
        same(await add(one, 1, 2), "3", "and answers")
    for session in (one, two):
        await session.shutdown()
    same(await processes(), [], "a session that is shut down takes its process along")


run(Running)
