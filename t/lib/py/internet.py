#!/usr/bin/env python3
"""
The internet of t/lib/sh/internet.sh: one namespace in which every address there is, is local.

	internet.py net DIR     web and odd servers on all addresses, a name server, and a look at the wire
	internet.py host DIR    what listens on the host that boxd runs on, and that nobody may reach

Everything is written down in DIR, a line for each event:
	visitors    tcp ADDRESS PORT           a connection that was accepted, by what the visitor called us
	ends        PORT eof|reset BYTES       how a visitor of an odd server left, and what it had sent
	names       sni|host NAME              who a visitor said it wants to speak with
	questions   udp|tcp NAME TYPE          what the name server was asked
	wire        tcp|udp|icmp|N ADDRESS PORT  the first packet of everything that came out of the host
"""
import asyncio
import ctypes
import hashlib
import os
import resource
import signal
import socket
import ssl
import struct
import sys

import internet_dns
import internet_wire

DIR = sys.argv[2]
WEB, WEB_TLS, ALSO_WEB = 80, 443, (8080, 8443, 22, 6000)
HOST_WEB = 8080
BLOCK = bytes(hashlib.shake_256(b"boxd").digest(1 << 20))  # a download is this, over and over

logs = {}


def log(name, *words):
    if name not in logs:
        logs[name] = open(os.path.join(DIR, name), "a", buffering=1)
    print(*words, file=logs[name])


def plain(address):
    return address[7:] if address.startswith("::ffff:") else address


def ours(writer):
    """Address and port that the visitor connected to."""
    at = writer.get_extra_info("sockname")
    return plain(at[0]), at[1]


def reset(writer):
    s = writer.get_extra_info("socket")
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


# ---- web ----------------------------------------------------------------------


def head(length=None, status="200 OK"):
    length = "" if length is None else f"Content-Length: {length}\r\n"
    return f"HTTP/1.1 {status}\r\n{length}Connection: close\r\n\r\n".encode()


async def give(writer, n):
    writer.write(head(n))
    while n > 0:
        writer.write(BLOCK[:n])
        n -= min(n, len(BLOCK))
        await writer.drain()


async def take(reader, n):
    sha = hashlib.sha256()
    got = 0
    while n is None or got < n:
        data = await reader.read(1 << 18 if n is None else min(1 << 18, n - got))
        if not data:
            break
        got += len(data)
        sha.update(data)
    return got, sha.hexdigest()


async def drip(writer, n):
    writer.write(head(n))
    for _ in range(n):
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.05)


def file_of(path):
    """Only what internet.sh put there: the dumb side of git's HTTP."""
    top = os.path.realpath(os.path.join(DIR, "www"))
    real = os.path.realpath(os.path.join(top, path))
    if not real.startswith(top + "/"):
        return None
    try:
        with open(real, "rb") as f:
            return f.read()
    except OSError:
        return None


async def answer(reader, writer, method, path, headers):
    address, port = ours(writer)
    tls = writer.get_extra_info("ssl_object")
    if path == "/":
        name = getattr(tls, "asked_for", "-") if tls else "-"
        text = f"served {address} {port} host={headers.get('host', '-')} sni={name}\n".encode()
        writer.write(head(len(text)) + text)
    elif path.startswith("/bytes/"):
        await give(writer, int(path[7:]))
    elif path == "/sink":
        if headers.get("expect"):
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        text = "received %d %s\n" % await take(reader, int(headers["content-length"]))
        writer.write(head(len(text)) + text.encode())
    elif path.startswith("/drip/"):
        await drip(writer, int(path[6:]))
    elif path == "/reset":
        writer.write(head(1000) + b"only this")
        await writer.drain()
        await asyncio.sleep(0.1)  # so that it was on the wire
        reset(writer)
    elif path == "/hold":
        writer.write(head(1000) + b"held\n")
        await reader.read()
    else:
        body = file_of(path.split("?")[0].lstrip("/")) if method == "GET" else None
        writer.write(head(0, "404 Not Found") if body is None else head(len(body)) + body)


async def web(reader, writer):
    log("visitors", "tcp", *ours(writer))
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
        log("names", "host", headers.get("host", "-"))
        await answer(reader, writer, method, path, headers)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        writer.transport.abort()


# ---- odd servers ----------------------------------------------------------------


async def read_to_end(reader, first=0):
    """How many bytes, and how it ended."""
    n = first
    try:
        while data := await reader.read(1 << 18):
            n += len(data)
    except OSError:
        return n, "reset"
    return n, "eof"


async def echo_at_end(reader, writer):
    """Says nothing before the other side has said all it wants to."""
    data = await reader.read()
    writer.write(b"%d bytes: " % len(data) + data[:100])
    await writer.drain()


async def ends_first(reader, writer):
    """Ends its own side at once, and goes on listening."""
    writer.write(b"that is all\n")
    writer.write_eof()
    n, how = await read_to_end(reader)
    log("ends", ours(writer)[1], how, n)


async def resets(reader, writer):
    await reader.read(1)
    reset(writer)


NEVER = asyncio.Event()  # one that only its waiters know would be collected, and their connections with it


async def never_reads(reader, writer):
    reader._transport.pause_reading()
    await NEVER.wait()


async def silent(reader, writer):
    n, how = await read_to_end(reader)
    log("ends", ours(writer)[1], how, n)


async def echo(reader, writer):
    n = 0
    try:
        while data := await reader.read(1 << 16):
            n += len(data)
            writer.write(data)
            await writer.drain()
        log("ends", ours(writer)[1], "eof", n)
    except OSError:
        log("ends", ours(writer)[1], "reset", n)


async def hears_all(reader, writer):
    """Answers whatever it gets, and writes down each other name that is anywhere in it."""
    said = b""
    while data := await reader.read(1 << 16):
        said += data
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        if b"evil" in said.lower():
            log("names", "heard evil.example behind", repr(said[:60]))
            said = b""


ODD = {7001: echo_at_end, 7002: ends_first, 7003: resets, 7004: never_reads, 7005: silent, 7006: echo, 7008: hears_all}


def odd(what):
    async def serve(reader, writer):
        log("visitors", "tcp", *ours(writer))
        try:
            await what(reader, writer)
            writer.close()
            await writer.wait_closed()
        except OSError:
            pass

    return serve


# ---- all of it ----------------------------------------------------------------------


def tls_context():
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    c.load_cert_chain(os.path.join(DIR, "server.pem"), os.path.join(DIR, "server.key"))

    def asked(sock, name, _):
        sock.asked_for = name or "-"
        log("names", "sni", sock.asked_for)

    c.sni_callback = asked
    return c


async def listen(serve, port, **more):
    s = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096)
    await asyncio.start_server(serve, sock=s, backlog=4096, limit=1 << 16, **more)


async def net():
    loop = asyncio.get_running_loop()
    tls = tls_context()
    await listen(web, WEB)
    for port in ALSO_WEB:
        await listen(web, port)
    await listen(web, WEB_TLS, ssl=tls)
    for port, what in ODD.items():
        await listen(odd(what), port)
    await internet_dns.start(lambda *w: log("questions", *w))
    internet_wire.start(loop, "n0", lambda *w: log("wire", *w))


async def host():
    await listen(web, HOST_WEB)


async def main():
    for name in ("visitors", "names", "ends", "questions", "wire"):
        open(os.path.join(DIR, name), "a").close()
    await {"net": net, "host": host}[sys.argv[1]]()
    with open(os.path.join(DIR, "ready"), "w"):
        pass
    await asyncio.Event().wait()


parent = os.getppid()
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: not longer than the test
if os.getppid() != parent:
    sys.exit(1)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 1 << 17), most))
asyncio.run(main())
