"""
The name server of t/lib/py/internet.py, by hand: UDP and TCP, on port 53 of every address.

It knows every name below, says NXDOMAIN to all others, and changes its mind about rebind.example.
"""
import asyncio
import itertools
import os
import socket
import struct

IP_PKTINFO, IPV6_FREEBIND = 8, 78
PUBLIC4, PUBLIC6 = "93.184.216.34", "2606:2800:220:1::34"
OTHER4 = "151.101.0.223"
A, CNAME, TXT, AAAA, ANY = 1, 5, 16, 28, 255
TYPES = {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV", 64: "SVCB",
         65: "HTTPS", 10: "NULL", 255: "ANY"}

ZONE = {  # name: (A, AAAA)
    "good.example": ([PUBLIC4], [PUBLIC6]),
    "evil.example": ([PUBLIC4], [PUBLIC6]),
    "www.good.example": ([PUBLIC4], [PUBLIC6]),
    "other.example": ([OTHER4], []),
    "six.example": ([], [PUBLIC6]),
    "loop.example": (["127.0.0.1"], ["::1"]),
    "zero.example": (["0.0.0.0"], ["::"]),
    "lan.example": (["192.168.77.7"], ["fd12:3456::7"]),
    "meta.example": (["169.254.169.254"], ["fd00:ec2::254"]),
    "mapped.example": ([], ["::ffff:10.20.30.40"]),
    "nat64.example": ([], ["64:ff9b::10.20.30.40"]),
    "own.example": (["185.199.108.10"], ["2a00:1450::10"]),
    "mixed.example": ([PUBLIC4, "10.20.30.40"], [PUBLIC6, "fd12:3456::7"]),
    "many.example": ([f"93.184.{i}.1" for i in range(200)], []),
    "gone.example": (["93.184.216.99"], []),  # internet.sh has no way there
    "short.example": (["151.101.1.1"], []),   # told with a TTL of 0
}
ALIASES = {"cname.example": "good.example", "cnamelan.example": "lan.example", "cnameevil.example": "evil.example",
           "deep.example": "cname.example", "circle.example": "circle.example"}
turns = itertools.count()


def wire_name(name):
    return b"".join(bytes([len(p)]) + p.encode("latin-1") for p in name.split(".") if p) + b"\0"


def record(name, kind, data, ttl=60):
    return wire_name(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def texts(n, size=200):
    return [bytes([size]) + os.urandom(size // 2).hex().encode() for _ in range(n)]


def addresses(name, kind):
    """Records of a name, or None: there is no such name."""
    ttl = 60
    if name == "rebind.example":
        pair = ([PUBLIC4], []) if next(turns) % 2 == 0 else (["192.168.77.7"], [])
        ttl = 0
    elif name.endswith(".pkg.example"):
        pair = ([OTHER4], [])
    elif name.endswith(".tunnel.example"):
        if kind in (TXT, 10):
            return [record(name, kind, t, 0) for t in texts(2)]
        pair, ttl = ([OTHER4], []), 0
    elif name == "big.example":
        return [record(name, TXT, t) for t in texts(40)] if kind == TXT else []
    elif name in ZONE:
        pair = ZONE[name]
        ttl = 0 if name == "short.example" else ttl
    else:
        return None
    if kind == A:
        return [record(name, A, socket.inet_aton(a), ttl) for a in pair[0]]
    if kind == AAAA:
        return [record(name, AAAA, socket.inet_pton(socket.AF_INET6, a), ttl) for a in pair[1]]
    return []


def resolve(name, kind):
    chain = []
    while name in ALIASES and len(chain) < 8:
        chain.append(record(name, CNAME, wire_name(ALIASES[name])))
        name = ALIASES[name]
        if kind == CNAME:
            return chain
    found = addresses(name, kind)
    return None if found is None and not chain else chain + (found or [])


def question(packet):
    """Name, type, where the question ends, and how much the asker takes by UDP."""
    at, labels = 12, []
    while packet[at]:
        n = packet[at]
        labels.append(packet[at + 1 : at + 1 + n].decode("latin-1"))
        at += 1 + n
    kind = struct.unpack_from("!H", packet, at + 1)[0]
    end = at + 5
    size = 512
    if struct.unpack_from("!H", packet, 10)[0] and packet[end : end + 3] == b"\0\0\x29":
        size = max(512, struct.unpack_from("!H", packet, end + 3)[0])
    return ".".join(labels).lower(), kind, end, size


def reply(packet, tcp, log):
    """The answer, or None: none comes."""
    name, kind, end, size = question(packet)
    log("tcp" if tcp else "udp", name, TYPES.get(kind, kind))
    if name == "never.example":
        return None
    records = resolve(name, kind)
    code = 2 if name == "servfail.example" else 3 if records is None else 0

    def made(answers, truncated):
        flags = 0x8480 | (struct.unpack_from("!H", packet, 2)[0] & 0x0100) | code | (0x0200 if truncated else 0)
        return packet[:2] + struct.pack("!HHHHH", flags, 1, len(answers), 0, 0) + packet[12:end] + b"".join(answers)

    whole = made(records or [], False)
    return whole if tcp or len(whole) <= size else made([], True)


def udp_socket(family, option_level, option):
    s = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)  # to answer from what is only a route's
    s.setsockopt(option_level, option, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.bind(("", 53))
    s.setblocking(False)
    return s


def on_udp(s, log):
    """Every address is ours, so the answer must say which of them was asked."""
    packet, control, _, who = s.recvmsg(65536, 256)
    try:
        r = reply(packet, False, log)
    except (IndexError, struct.error):
        return
    if r is None:
        return
    back = []
    for level, kind, data in control:
        if level == socket.IPPROTO_IP:  # struct in_pktinfo: interface, source, destination
            back = [(level, kind, struct.pack("=I4s4s", 0, data[8:12], b"\0" * 4))]
        else:
            back = [(level, kind, data)]
    try:
        s.sendmsg([r], back, 0, who)
    except OSError:
        pass


async def on_tcp(reader, writer, log):
    try:
        while True:
            n = struct.unpack("!H", await reader.readexactly(2))[0]
            r = reply(await reader.readexactly(n), True, log)
            if r is not None:
                writer.write(struct.pack("!H", len(r)) + r)
                await writer.drain()
    except (OSError, asyncio.IncompleteReadError, IndexError, struct.error):
        writer.close()


async def start(log):
    loop = asyncio.get_running_loop()
    for s in (udp_socket(socket.AF_INET, socket.IPPROTO_IP, IP_PKTINFO),
              udp_socket(socket.AF_INET6, socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO)):
        loop.add_reader(s, on_udp, s, log)
    s = socket.create_server(("::", 53), family=socket.AF_INET6, dualstack_ipv6=True, backlog=1024)
    await asyncio.start_server(lambda r, w: on_tcp(r, w, log), sock=s)
