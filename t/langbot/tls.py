"""LangBot's door behind TLS: wss:// by Python's ssl, which trusts the certificate of the test and no other."""

import asyncio
import os
import ssl
import urllib.request

import websockets
from harness import *


@scenario
async def actions(c):
    """Actions, small and large"""
    ctx = context()
    same((await c.client.execute(spec(cmd="echo hello-box"), ctx)).stdout, "hello-box", "a command")
    r = await c.client.execute(spec(cmd="head -c 1000000 /dev/zero | tr '\\0' a"), ctx)
    same(r.stdout, "a" * 1000000, "a megabyte of output")
    big = await asyncio.gather(*[c.client.execute(spec(f"p{i}", f"echo {i}"), ctx) for i in range(8)])
    same([r.stdout for r in big], [str(i) for i in range(8)], "eight at once")


@scenario
async def relay(c):
    """The relay"""
    ctx = context()
    await c.client.create_session(spec(), ctx)
    await c.client.start_managed_process("s", process("cat"), ctx)
    url = c.client.get_managed_process_websocket_url("s", RELAY_BASE, "default", ctx)
    same(url.split(":")[0], "wss", "LangBot's own address of it")
    async with websockets.connect(url, additional_headers=relay_headers(ctx), subprotocols=["mcp"], proxy=None) as ws:
        for text in ("one", "x" * 500000):
            await ws.send(text)
            same((await asyncio.wait_for(ws.recv(), EVENTUALLY_SEC)).strip(), text, f"{len(text)} characters come back")


@scenario
async def probe(c):
    """The probes"""

    def get():
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl.create_default_context()))
        return opener.open(f"{RELAY_BASE}/healthz").status

    same(await asyncio.to_thread(get), 200, "health")


@scenario
async def strangers(c):
    """Who does not trust it, and who does not speak it"""
    try:
        async with websockets.connect(RPC_URL, additional_headers=headers(), proxy=None, ssl=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)):
            ok(False, "an unknown certificate is refused by the client")
    except ssl.SSLCertVerificationError:
        ok(True, "an unknown certificate is refused by the client")
    try:
        async with websockets.connect(f"ws://{ADDRESS}/rpc/ws", additional_headers=headers(), proxy=None):
            ok(False, "no TLS, no answer")
    except (websockets.InvalidHandshake, EOFError, OSError):
        ok(True, "no TLS, no answer")
    same((await c.client.execute(spec(cmd="echo on"), context())).stdout, "on", "others are served on")


run()
