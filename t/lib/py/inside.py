"""
A client that says exactly what became of each try.  Runs inside a sandbox; Python's own library alone.

	tcp   ADDRESS/PORT...            connect and ask for a page
	udp   ADDRESS/PORT...            send a packet, and see whether anything says no
	dns   [@ADDRESS] [tcp] TYPE NAME...   ask a name server, not by way of libc
	name  NAME...                    as libc resolves it
	echo  ADDRESS/PORT WORDS...      connect, say it, end our side, print what comes
	hold  N ADDRESS/PORT             N connections, all held until standard input ends

A line each: what was tried, a colon, and OK with what came, or the error's name.  HANGS: nothing for half a minute.
"""
import errno
import os
import select
import socket
import struct
import sys

LONG = 30
TYPES = {"A": 1, "NS": 2, "CNAME": 5, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "HTTPS": 65, "ANY": 255}


def outcome(what, *args):
    try:
        return what(*args)
    except TimeoutError:
        return "HANGS"
    except socket.gaierror as e:
        return {socket.EAI_NONAME: "NONAME", socket.EAI_AGAIN: "AGAIN", socket.EAI_NODATA: "NODATA"}.get(e.errno, e.strerror)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))


def split(at):
    address, port = at.rsplit("/", 1)
    return address, int(port)


def connected(at, kind=socket.SOCK_STREAM):
    """As libc spells the address; the first it has."""
    family, _, _, _, to = socket.getaddrinfo(*split(at), type=kind)[0]
    s = socket.socket(family, kind)
    s.settimeout(LONG)
    s.connect(to)
    return s


def read_all(s):
    data = b""
    while more := s.recv(65536):
        data += more
    return data


def tcp(at):
    with connected(at) as s:
        s.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % split(at)[0].encode())
        data = read_all(s)
    return "OK " + data.decode("latin-1").split("\r\n\r\n")[-1].strip() if data else "EOF"


def udp(at):
    with connected(at, socket.SOCK_DGRAM) as s:
        s.send(b"x" * 32)
        s.settimeout(0.2)
        try:
            return "OK " + repr(s.recv(512))
        except TimeoutError:
            s.send(b"again")
            return "SENT"


def question(name, kind):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".") if p)
    return struct.pack("!HHHHHH", os.getpid() & 0xFFFF, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)


def skip_name(p, at):
    while p[at]:
        if p[at] >= 0xC0:
            return at + 2
        at += 1 + p[at]
    return at + 1


def told(p):
    """NOERROR 1.2.3.4 5.6.7.8"""
    flags, questions, answers = struct.unpack_from("!HHH", p, 2)
    words = [{0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}.get(flags & 15, str(flags & 15))]
    if flags & 0x0200:
        words.append("TRUNCATED")
    at = 12
    for _ in range(questions):
        at = skip_name(p, at) + 4
    for _ in range(answers):
        at = skip_name(p, at)
        kind, _, _, n = struct.unpack_from("!HHIH", p, at)
        data = p[at + 10 : at + 10 + n]
        at += 10 + n
        if kind in (1, 28):
            words.append(socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, data))
        else:
            words.append("type%d" % kind)
    return " ".join(words)


def dns(server, by_tcp, kind, name):
    q = question(name, TYPES[kind])
    with connected(server + "/53", socket.SOCK_STREAM if by_tcp else socket.SOCK_DGRAM) as s:
        if not by_tcp:
            s.send(q)
            return told(s.recv(65536))
        s.sendall(struct.pack("!H", len(q)) + q)
        data = b""
        while len(data) < 2 or len(data) < 2 + struct.unpack("!H", data[:2])[0]:
            more = s.recv(65536)
            if not more:
                return "EOF"
            data += more
        return told(data[2:])


def name(n):
    return "OK " + " ".join(sorted({a[4][0] for a in socket.getaddrinfo(n, 80, type=socket.SOCK_STREAM)}))


def echo(at, *words):
    with connected(at) as s:
        s.sendall(" ".join(words).encode())
        try:
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # cut already, which reading tells
        return "OK " + read_all(s).decode("latin-1").strip()


def hold(n, at):
    """All of them at once; then how many of them live, when asked by a line."""
    family, _, _, _, to = socket.getaddrinfo(*split(at), type=socket.SOCK_STREAM)[0]
    held = []
    for _ in range(n):
        s = socket.socket(family)
        s.settimeout(LONG)
        try:
            s.connect(to)
            held.append(s)
        except OSError as e:
            print("connect:", errno.errorcode.get(e.errno, e), flush=True)
    print("holding", len(held), flush=True)
    for _ in sys.stdin:
        poll = select.poll()
        for s in held:
            poll.register(s, select.POLLIN)
        dead = len(poll.poll(0))
        print("alive", len(held) - dead, flush=True)


def main(verb, *args):
    if verb == "hold":
        hold(int(args[0]), args[1])
        return
    if verb == "echo":
        print("%s: %s" % (args[0], outcome(echo, *args)))
        return
    server, by_tcp = "127.0.0.1", False
    args = list(args)
    if verb == "dns":
        if args[0].startswith("@"):
            server = args.pop(0)[1:]
        if args[0] == "tcp":
            by_tcp = bool(args.pop(0))
        kind = args.pop(0)
    for a in args:
        done = outcome(dns, server, by_tcp, kind, a) if verb == "dns" else outcome(globals()[verb], a)
        print("%s: %s" % (a, done), flush=True)


main(*sys.argv[1:])
