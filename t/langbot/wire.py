"""The envelope and the handshake, with messages LangBot's client would never send."""

import asyncio
import json
import urllib.error
import urllib.request

import websockets
from harness import *


def connect(head=None, url=RPC_URL, **more):
    return websockets.connect(url, additional_headers=headers() if head is None else head, proxy=None, max_size=1 << 24, **more)


async def ask(ws, message):
    await ws.send(message if isinstance(message, str) else json.dumps(message))
    return json.loads(await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC))


def get(path, method="GET", **head):
    request = urllib.request.Request(f"{RELAY_BASE}{path}", method=method, headers=head)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as r:
            return r.status, r.read().decode(), r.headers
    except urllib.error.HTTPError as exc:
        return exc.code, exc.read().decode(), exc.headers


CTX = {"instance_uuid": INSTANCE, "workspace_uuid": "wire", "placement_generation": 1}


@scenario
async def envelope(c):
    """Replies have exactly the reference's shape"""
    async with connect() as ws:
        same(await ask(ws, {"seq_id": 5, "action": "__ping", "data": {}}), {"seq_id": 5, "code": 0, "message": "success", "data": {}, "chunk_status": "continue"}, "ping")
        r = await ask(ws, {"seq_id": 6, "action": "__ping"})
        same((r["seq_id"], r["code"], r["data"]), (6, 1, {}), "data missing: an error reply")
        contains(r["message"], "ValidationError: 1 validation error for ActionRequest\ndata\n  Field required", "and its text")
        for junk in ("{bad", "[]", "null", "1", '"x"', "{}", '{"code":0,"action":"__ping","seq_id":3}', ""):
            await ws.send(junk)
        same((await ask(ws, {"seq_id": "7", "action": "__ping", "data": {}}))["seq_id"], "7", "junk is passed over; a numeric string is echoed")
        same((await ask(ws, {"action": "__ping", "data": {}}))["seq_id"], -1, "no seq_id: -1")
        same((await ask(ws, {"seq_id": 1, "action": "nope", "data": {}}))["message"], "ValueError: Action nope not found", "unknown action")
        same((await ask(ws, {"seq_id": 1, "action": "__heartbeat", "data": {}}))["message"], "ValueError: Action __heartbeat not found", "no heartbeat action")
        same((await ask(ws, {"seq_id": 1, "action": "box_get_session", "data": {}, "context": CTX}))["message"], "KeyError: 'session_id'", "a missing key")
        same((await ask(ws, {"seq_id": 1, "action": "box_get_sessions", "data": {}}))["message"], "PermissionError: Box tenant action requires a trusted Workspace context", "no context")
        r = await ask(ws, {"seq_id": 2, "action": "box_get_sessions", "data": {}, "context": CTX | {"extra": 1}})
        ok(r["code"] == 1 and "ValidationError" in r["message"], "an unknown key in the context")
        deep = "[" * 5000 + "]" * 5000
        await ws.send('{"seq_id": 9, "action": "__ping", "data": {"x": ' + deep + "}}")
        r = await ask(ws, {"seq_id": 10, "action": "__ping", "data": {}})
        while r["seq_id"] != 10:
            r = json.loads(await ws.recv())
        ok(True, "JSON nested too deeply does not end the connection")
        r = await ask(ws, {"seq_id": 11, "action": "box_get_session", "data": {"session_id": "x" * 5000}, "context": CTX})
        same(len(r["message"]), 4151, "an error text is cut at 4096 characters and the notice")


@scenario
async def busy(c):
    """128 in flight, 96 of one workspace; ping is answered beyond that"""

    async def fill(ws, ctx, first, n):
        for i in range(first, first + n):
            await ws.send(json.dumps({"seq_id": i, "action": "box_exec", "data": {"session_id": "b", "cmd": "sleep 1000", "workdir": "/tmp"}, "context": ctx}))

    async def refused(ws, n):
        got = [json.loads(await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC)) for _ in range(n)]
        return sorted(g["seq_id"] for g in got), got[0]["message"]

    async with connect() as ws:
        await fill(ws, CTX, 0, 98)
        ids, why = await refused(ws, 2)
        same(ids, [96, 97], "one workspace has no more than its share")
        same(why, "BoxError: Workspace is busy: too many concurrent actions (96): one workspace may have 96 of 128 (workspace_share = 75 in boxd.conf)", "and is told so")
        await fill(ws, CTX | {"workspace_uuid": "wire-2"}, 100, 32)
        await fill(ws, CTX | {"workspace_uuid": "wire-3"}, 200, 2)
        ids, why = await refused(ws, 2)
        same(ids, [200, 201], "another gets the rest; what is over 128 is refused at once")
        same(why, "Runtime connection is busy (max 128 concurrent actions)", "with upstream's text")
        same((await ask(ws, {"seq_id": 999, "action": "__ping", "data": {}}))["code"], 0, "ping is not counted")
    await c.client.delete_session("b", context("wire-2"))
    await c.client.delete_session("b", context("wire"))


@scenario
async def large(c):
    """Messages of many fragments, and too large ones"""
    async with connect() as ws:
        big = "y" * 5_000_000

        async def pieces():
            text = json.dumps({"seq_id": 1, "action": "__ping", "data": {"x": big}})
            for i in range(0, len(text), 65536):
                yield text[i : i + 65536]

        await ws.send(pieces())
        same(json.loads(await ws.recv())["seq_id"], 1, "5 MB in 77 fragments")
    ws = await connect()
    try:
        await ws.send(json.dumps({"x": "z" * (16 * 1024 * 1024)}))
        await ws.recv()
        ok(False, "16 MiB: 1009")
    except websockets.ConnectionClosed as exc:
        same(exc.rcvd.code, 1009, "16 MiB: 1009")


@scenario
async def handshake(c):
    """Who is let in"""
    async def status(head, url=RPC_URL, **more):
        try:
            async with websockets.connect(url, additional_headers=head, proxy=None, **more):
                return 101, ""
        except websockets.InvalidStatus as exc:
            return exc.response.status_code, exc.response.body.decode()

    same(await status(headers()), (101, ""), "token and instance")
    same(await status({}), (401, "Unauthorized"), "nothing")
    same(await status(headers(token="wrong" * 10)), (401, "Unauthorized"), "a wrong token")
    same(await status(headers(token="")), (401, "Unauthorized"), "no token")
    same(await status(headers("another")), (401, "Unauthorized"), "another instance")
    same(await status(headers("-bad id")), (401, "Unauthorized"), "no instance id")
    same((await status(headers(), origin="http://evil.example"))[0], 403, "a web page")
    same((await status(headers() | {"Host": "evil.example"}))[0] // 100, 4, "another Host")
    same(await status(headers(), f"ws://{ADDRESS}/nowhere"), (404, "404: Not Found"), "another path")


@scenario
async def probes(c):
    """Health and readiness for anybody"""
    code, body, head = await asyncio.to_thread(get, "/healthz")
    same((code, json.loads(body)["live"]), (200, True), "live")
    ok({"sessions", "managed_processes", "event_loop", "blocking_executor"} <= set(json.loads(body)["resources"]), "resources")
    code, body, head = await asyncio.to_thread(get, "/readyz")
    r = json.loads(body)
    same((code, r["ready"], r["mode"], r["backend"], r["checks"]), (200, True, "standard", {"name": "native", "available": True}, {"backend_available": True}), "ready")
    same((await asyncio.to_thread(get, "/nowhere"))[:2], (404, "404: Not Found"), "404")
    same((await asyncio.to_thread(get, "/healthz", "POST"))[0], 405, "405")
    same((await asyncio.to_thread(get, "/healthz", "HEAD"))[:2], (200, ""), "HEAD")
    same((await asyncio.to_thread(get, "/rpc/ws"))[:2], (401, "Unauthorized"), "no upgrade, no token: 401")
    same((await asyncio.to_thread(lambda: get("/rpc/ws", **headers())))[0], 400, "no upgrade: 400")


@scenario
async def binary(c):
    """A binary message ends the control connection"""
    async with connect() as ws:
        await ws.send(b"\x00\x01")
        try:
            await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC)
            ok(False, "closed")
        except websockets.ConnectionClosed:
            ok(True, "closed")


run()
