"""Crashes between LangBot and its sandboxes: what was there is there again."""

import asyncio
import os
import signal
import subprocess

import websockets
from harness import *

BOXCTL = os.environ["BOXCTL"].split()


def pids(name):
    out = subprocess.run(["pgrep", "-x", name, "-P", os.environ["BOXD_PID"]], capture_output=True, text=True).stdout
    return [int(p) for p in out.split()]


@scenario
async def gateway_dies(c):
    """kill -9 of the gateway"""
    ctx = context()
    await c.client.execute(spec(cmd="echo kept > /tmp/f", persistent=True), ctx)
    await c.client.start_managed_process("s", process("sh", "-c", "read x; echo one; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo two; read z"), ctx)
    url = c.client.get_managed_process_websocket_url("s", RELAY_BASE, "default", ctx)
    relay = await websockets.connect(url, additional_headers=relay_headers(ctx), subprotocols=["mcp"], proxy=None)
    await relay.send("x")
    same((await asyncio.wait_for(relay.recv(), EVENTUALLY_SEC)).strip(), "one", "the relay works")
    old = pids("box-gateway")
    os.kill(old[0], signal.SIGKILL)
    await asyncio.wait_for(c.closed.wait(), EVENTUALLY_SEC)
    ok(True, "the connection is lost")
    again = Connection()
    for _ in range(EVENTUALLY_SEC * 10):
        try:
            await again.__aenter__()
            break
        except Exception:
            again = Connection()
            await asyncio.sleep(0.1)
    r = await again.client.execute(spec(cmd="cat /tmp/f; touch /tmp/go", persistent=True), ctx)
    same(r.stdout, "kept", "the session lives")
    same((await again.client.get_managed_process("s", action_context=ctx)).status.value, "running", "its process runs")
    relay = await websockets.connect(url, additional_headers=relay_headers(ctx), subprotocols=["mcp"], proxy=None)
    same((await asyncio.wait_for(relay.recv(), EVENTUALLY_SEC)).strip(), "two", "its output is not lost")
    await relay.close()
    await again.client.delete_session("s", ctx)
    await again.__aexit__()


run()
