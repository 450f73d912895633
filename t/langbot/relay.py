"""The relay, attached with websockets and with the mcp client, as LangBot does it."""

import asyncio
import json

import websockets
from harness import *
from relay_server import SERVER

def attach(c, ctx, pid="default", session="s", **more):
    url = c.client.get_managed_process_websocket_url(session, RELAY_BASE, pid, ctx)
    return websockets.connect(url, additional_headers=relay_headers(ctx), proxy=None, **({"subprotocols": ["mcp"], "max_size": 1 << 20} | more))


async def status_of(connecting):
    try:
        async with connecting:
            return 101
    except websockets.InvalidStatus as exc:
        return exc.response.status_code


async def started(c, *command, **more):
    ctx = context()
    await c.client.create_session(spec(), ctx)
    await c.client.start_managed_process("s", process(*command, **more), ctx)
    return ctx


async def take(ws, n):
    return [await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC) for _ in range(n)]


async def until_closed(ws):
    got = []
    try:
        while True:
            got.append(await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC))
    except websockets.ConnectionClosed as exc:
        return got, exc.rcvd


@scenario
async def echo(c):
    """cat answers"""
    ctx = await started(c, "cat")
    async with attach(c, ctx) as ws:
        same(ws.subprotocol, "mcp", "the subprotocol is taken")
        await ws.send("hello from test")
        contains((await take(ws, 1))[0], "hello from test", "it comes back")
        p = await c.client.get_managed_process("s", action_context=ctx)
        same(p.attached, True, "attached is told")
    async with attach(c, ctx, subprotocols=None) as ws:
        same(ws.subprotocol, None, "no subprotocol is invented")
        await ws.send("raw")
        same("".join(await take(ws, 1)), "raw\n", "raw: the newline is passed on")

    async def detached():
        return not (await c.client.get_managed_process("s", action_context=ctx)).attached

    await eventually(detached, "and detached")


@scenario
async def lines(c):
    """One line, one message, however they were written"""
    ctx = await started(c, "sh", "-c", "read x; printf '{\"a\":1}\\n{\"b\":2}\\n'; printf '{\"c\"'; sleep 0.2; printf ':3}\\n'; printf '\\n'; printf last; read y")
    async with attach(c, ctx) as ws:
        await ws.send("go")
        same([json.loads(m) for m in await take(ws, 3)], [{"a": 1}, {"b": 2}, {"c": 3}], "two at once, one in halves")
        await ws.send("end")
        got, close = await until_closed(ws)
        same([m.strip() for m in got], ["last"], "the rest of an ended process, without its newline")
        same(close.code, 1000, "then a normal close")


@scenario
async def many(c):
    """Thousands of messages, and characters of every width"""
    ctx = await started(c, "cat")
    n = 5000
    text = [json.dumps({"id": i, "t": "\u00e4\u6f22\U0001f600" * (i % 50)}, ensure_ascii=False) for i in range(n)]
    async with attach(c, ctx) as ws:

        async def send():
            for t in text:
                await ws.send(t)

        sender = asyncio.create_task(send())
        got = await take(ws, n)
        await sender
    same([g.rstrip("\n") for g in got], text, f"{n} messages come back whole and in order")


@scenario
async def bulk(c):
    """8 MiB through cat"""
    ctx = await started(c, "cat")
    line = "x" * 65535
    async with attach(c, ctx) as ws:

        async def send():
            for _ in range(128):
                await ws.send(line)

        sender = asyncio.create_task(send())
        got = await take(ws, 128)
        await sender
    ok(all(g.rstrip("\n") == line for g in got), "arrives whole")


@scenario
async def long_lines(c):
    """The longest line LangBot's client takes, and one more"""
    ctx = await started(c, "sh", "-c", "read n; head -c $n /dev/zero | tr '\\0' y; echo; echo after; read z")
    async with attach(c, ctx) as ws:
        await ws.send("1048575")
        same([len(m.rstrip("\n")) for m in await take(ws, 2)], [1048575, 5], "just under 1 MiB")
    ctx = await started(c, "sh", "-c", "read x; head -c 3000000 /dev/zero | tr '\\0' y; echo; echo after; read z")
    async with attach(c, ctx) as ws:
        await ws.send("go")
        got, close = await until_closed(ws)
        same((got, close.code), ([], 1009), "longer: closed, nothing broken was sent")
        contains(close.reason, "1048576", "and the reason names the limit")
    async with attach(c, ctx) as ws:
        same([m.strip() for m in await take(ws, 1)], ["after"], "the next attach goes on behind it")


@scenario
async def unattached(c):
    """Output made while nobody is attached is kept"""
    ctx = await started(c, "sh", "-c", "for i in $(seq 2000); do echo line $i; done; echo ready >&2; read x; echo more; read y")

    async def written():
        return "ready" in (await c.client.get_managed_process("s", action_context=ctx)).stderr_preview

    await eventually(written, "a process does not block on it")
    async with attach(c, ctx) as ws:
        got = await take(ws, 2000)
        same([g.strip() for g in got], [f"line {i}" for i in range(1, 2001)], "and replayed")
    async with attach(c, ctx) as ws:
        await ws.send("x")
        same([g.strip() for g in await take(ws, 1)], ["more"], "what was delivered is not replayed")


@scenario
async def dropped(c):
    """Of much output that nobody reads the newest is kept"""
    ctx = await started(c, "sh", "-c", "i=0; while [ $i -lt 200000 ]; do echo line $i; i=$((i + 1)); done; echo ready >&2; read x")

    async def written():
        return "ready" in (await c.client.get_managed_process("s", action_context=ctx)).stderr_preview

    await eventually(written, "it does not block")
    async with attach(c, ctx) as ws:
        got = []
        while not got or got[-1].strip() != "line 199999":
            got += await take(ws, 1)
    numbers = [int(g.split()[1]) for g in got if g.startswith("line ")]
    ok(numbers == list(range(numbers[0], 200000)), "without a gap to the end")
    ok(len(got) < 200000, "the oldest is gone")
    ok(all(g.startswith("line ") for g in got), "no line is cut in two")


@scenario
async def takes_over(c):
    """A second attach takes over"""
    ctx = await started(c, "cat")
    async with attach(c, ctx) as first:
        await first.send("one")
        await take(first, 1)
        async with attach(c, ctx) as second:
            got, close = await until_closed(first)
            ok(close.code in (1000, 1001) and close.reason != "", "the first is closed with a reason")
            await second.send("two")
            same([g.strip() for g in await take(second, 1)], ["two"], "the second works")


@scenario
async def refusals(c):
    """Who may not attach"""
    ctx = await started(c, "sh", "-c", "exit 0")
    other = context()

    async def exited():
        return (await c.client.get_managed_process("s", action_context=ctx)).status.value == "exited"

    await eventually(exited, "a process has ended")
    for name, head, session, pid, code, text in (
        ("ended process", relay_headers(ctx), "s", "default", 400, "BoxManagedProcessConflictError"),
        ("unknown process", relay_headers(ctx), "s", "nobody", 400, "BoxManagedProcessNotFoundError"),
        ("unknown session", relay_headers(ctx), "t", "default", 400, "BoxSessionNotFoundError"),
        ("another workspace", relay_headers(other), "s", "default", 401, ""),
        ("another generation", relay_headers(context(ctx.workspace_uuid, 2)), "s", "default", 401, ""),
        ("wrong token", relay_headers(ctx, "x" * 40), "s", "default", 401, ""),
        ("no workspace", headers(), "s", "default", 401, ""),
        ("leading zero", relay_headers(ctx) | {"X-LangBot-Placement-Generation": "01"}, "s", "default", 401, ""),
    ):
        url = c.client.get_managed_process_websocket_url(session, RELAY_BASE, pid, ctx)
        try:
            await websockets.connect(url, additional_headers=head, subprotocols=["mcp"], proxy=None)
            ok(False, name)
        except websockets.InvalidStatus as exc:
            body = exc.response.body.decode()
            same(exc.response.status_code, code, f"{name}: {code}")
            if code == 400:
                same(json.loads(body)["error"]["code"], text, f"{name}: its class")
            else:
                same(body, "Unauthorized", f"{name}: nothing more is told")


@scenario
async def exit_closes(c):
    """Exit closes after the last byte; stop and delete close too"""
    ctx = await started(c, "sh", "-c", "read x; head -c 300000 /dev/zero | tr '\\0' z | fold -w 1000; echo; echo bye")
    async with attach(c, ctx) as ws:
        await ws.send("go")
        got, close = await until_closed(ws)
        same((sum(g.count("z") for g in got), got[-1].strip(), close.code), (300000, "bye", 1000), "everything, then 1000")
    for name, end in (("stop", lambda x: c.client.stop_managed_process("s", action_context=x)), ("delete", lambda x: c.client.delete_session("s", x))):
        ctx = await started(c, "cat")
        async with attach(c, ctx) as ws:
            await end(ctx)
            got, close = await until_closed(ws)
            same((got, close.code), ([], 1000), f"{name}: 1000")


@scenario
async def mcp_client(c):
    """An MCP server by the mcp package's session over the transport of LangBot's loader"""
    from langbot.pkg.provider.tools.loaders.mcp_stdio import authenticated_websocket_client
    from mcp import ClientSession

    ctx = await started(c, "python3", "-uc", SERVER)
    url = c.client.get_managed_process_websocket_url("s", RELAY_BASE, "default", ctx)
    async with authenticated_websocket_client(url, relay_headers(ctx)) as (read, write):
        async with ClientSession(read, write) as session:
            same((await session.initialize()).serverInfo.name, "t", "initialize")
            same([t.name for t in (await session.list_tools()).tools], ["add"], "tools/list")
            r = await session.call_tool("add", {"a": 40, "b": 2})
            same(r.content[0].text, "42", "tools/call")


run()
