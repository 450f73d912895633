"""Commands of a lost connection, and __cancel_action: what no LangBot client sends yet, but the protocol has."""

import asyncio
import json

import websockets
from harness import *

CTX = {"instance_uuid": INSTANCE, "workspace_uuid": "cancel", "placement_generation": 1}
OTHER = CTX | {"workspace_uuid": "cancel-2"}


def connect():
    return websockets.connect(RPC_URL, additional_headers=headers(), proxy=None, max_size=1 << 24)


async def say(ws, seq, action, data, ctx=CTX):
    await ws.send(json.dumps({"seq_id": seq, "action": action, "data": data} | ({"context": ctx} if ctx else {})))


async def ask(ws, seq, action, data, ctx=CTX):
    await say(ws, seq, action, data, ctx)
    return json.loads(await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC))


def run_of(cmd, session="s", **more):
    return {"session_id": session, "cmd": cmd, "workdir": "/tmp", "memory_mb": 128} | more


async def stdout(ws, seq, cmd):
    return (await ask(ws, seq, "box_exec", run_of(cmd)))["data"]["stdout"]


async def sleeping(ws, seq):
    return int(await stdout(ws, seq, "pgrep -cx sleep || true"))


@scenario
async def disconnect(c):
    """A command runs on when its connection is lost"""
    async with connect() as ws:
        same(await stdout(ws, 1, "mkfifo /tmp/go"), "", "a session")
        await say(ws, 2, "box_exec", run_of("touch /tmp/begun; read x </tmp/go; echo done >/tmp/done"))
        async with connect() as second:
            same(await stdout(second, 3, "while ! [ -e /tmp/begun ]; do sleep 0.05; done"), "", "its command runs")
    async with connect() as ws:
        await ask(ws, 4, "box_exec", run_of("echo >/tmp/go"))
        same(await stdout(ws, 5, "while ! [ -e /tmp/done ]; do sleep 0.05; done; cat /tmp/done"), "done", "it finished; the next connection's exec works")


@scenario
async def cancel(c):
    """__cancel_action ends a running exec, which gets no reply"""
    async with connect() as ws:
        await ask(ws, 1, "box_create_session", run_of(""))
        await say(ws, 10, "box_exec", run_of("sleep 1000", timeout_sec=600))
        async with connect() as second:
            await eventually(lambda: _is(sleeping(second, 1), 1), "a command runs")
            same((await ask(ws, 11, "__cancel_action", {"seq_id": 10}, OTHER))["data"], {"cancelled": False}, "another workspace cannot cancel it")
            same((await ask(second, 12, "__cancel_action", {"seq_id": 10}))["data"], {"cancelled": False}, "nor another connection")
            same((await ask(ws, 13, "__cancel_action", {"seq_id": 13}))["data"], {"cancelled": False}, "nor does an action cancel itself")
            same((await ask(ws, 14, "__cancel_action", {"seq_id": 10}, None))["message"], "PermissionError: Box tenant action requires a trusted Workspace context", "a context is needed")
            same((await ask(ws, 14, "__cancel_action", {"seq_id": "10"}))["message"], "ValueError: Cancellation requires an integer seq_id", "and a number")
            same(await sleeping(second, 2), 1, "it still runs")
            same(await ask(ws, 15, "__cancel_action", {"seq_id": 10}), {"seq_id": 15, "code": 0, "message": "success", "data": {"cancelled": True}, "chunk_status": "continue"}, "its own workspace can")
            await eventually(lambda: _is(sleeping(second, 3), 0), "the command is gone")
        same((await ask(ws, 16, "__cancel_action", {"seq_id": 10}))["data"], {"cancelled": False}, "twice is false")
        same((await ask(ws, 17, "box_get_sessions", {}))["seq_id"], 17, "the exec got no reply")
        same(await stdout(ws, 18, "echo alive"), "alive", "the session works")
        same((await ask(ws, 19, "__stream_ack", {"seq_id": 1, "index": 1}))["data"], {"accepted": False}, "no stream to acknowledge")


@scenario
async def full(c):
    """A cancel gets through on a connection that is full"""
    async with connect() as ws:
        await ask(ws, 1, "box_create_session", run_of("", "full", memory_mb=512, pids_limit=400))
        for ctx, first, n in ((CTX, 100, 96), (OTHER, 300, 32)):
            for seq in range(first, first + n):
                await say(ws, seq, "box_exec", run_of("sleep 1000", "full", timeout_sec=600, memory_mb=512, pids_limit=400), ctx)
        same((await ask(ws, 500, "box_get_sessions", {}))["message"], "Runtime connection is busy (max 128 concurrent actions)", "full")
        same((await ask(ws, 501, "__cancel_action", {"seq_id": 100}))["data"], {"cancelled": True}, "a cancel succeeds")
        same((await ask(ws, 502, "box_get_sessions", {}))["code"], 0, "and makes room")
    await c.client.delete_session("full", context("cancel"))
    await c.client.delete_session("full", context("cancel-2"))


async def _is(awaitable, value):
    return await awaitable == value


run()
