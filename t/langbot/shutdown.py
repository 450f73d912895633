"""boxd is stopped while LangBot is connected."""

import asyncio
import os
import signal

import websockets
from harness import *


@scenario
async def sigterm(c):
    """SIGTERM: everybody is told, in LangBot's words"""
    ctx = context()
    await c.client.create_session(spec(persistent=True), ctx)
    await c.client.start_managed_process("s", process("cat"), ctx)
    url = c.client.get_managed_process_websocket_url("s", RELAY_BASE, "default", ctx)
    relay = await websockets.connect(url, additional_headers=relay_headers(ctx), subprotocols=["mcp"], proxy=None)
    control = await websockets.connect(RPC_URL, additional_headers=headers(), proxy=None)
    waiting = asyncio.create_task(c.client.execute(spec(cmd="sleep 1000", persistent=True), ctx))

    async def running():
        return (await c.client.execute(spec(cmd="pgrep -c sleep", persistent=True), ctx)).stdout == "1"

    await eventually(running, "a command runs")
    os.kill(int(os.environ["BOXD_PID"]), signal.SIGTERM)
    for name, ws in (("control", control), ("relay", relay)):
        try:
            await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC)
            ok(False, f"{name} is closed")
        except websockets.ConnectionClosed as exc:
            same((exc.rcvd.code, exc.rcvd.reason), (1001, "Box runtime shutting down"), f"{name} is told")
    await asyncio.wait_for(c.closed.wait(), EVENTUALLY_SEC)
    ok(True, "LangBot's client sees the end")
    try:
        await asyncio.wait_for(waiting, EVENTUALLY_SEC)
        ok(False, "whoever waits for a command is not left waiting")
    except Exception as exc:
        ok(not isinstance(exc, TimeoutError), "whoever waits for a command is not left waiting")
    try:
        async with Connection():
            ok(False, "nobody is let in any more")
    except Exception:
        ok(True, "nobody is let in any more")


run()
