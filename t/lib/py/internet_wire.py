"""
What came over the wire of t/lib/py/internet.py, from below: every packet that begins something, whoever sent it.

A filter in the kernel drops the rest of a TCP connection, so a gigabyte costs nothing here.
"""
import ctypes
import socket
import struct

ETH_P_ALL, PACKET_HOST, SO_ATTACH_FILTER = 3, 0, 26
LDB, LDB_X, LDX_IP_LENGTH, AND, JUMP, JEQ, RET = 0x30, 0x50, 0xB1, 0x54, 0x05, 0x15, 0x06
PROGRAM = [  # code, steps over if true, if false, k
    (LDB, 0, 0, 0),
    (AND, 0, 0, 0xF0),
    (JEQ, 1, 0, 0x40),
    (JEQ, 5, 10, 0x60),
    (LDB, 0, 0, 9),  # IPv4: of TCP its flags
    (JEQ, 0, 9, 6),
    (LDX_IP_LENGTH, 0, 0, 0),
    (LDB_X, 0, 0, 13),
    (JUMP, 0, 0, 3),
    (LDB, 0, 0, 6),  # IPv6 likewise
    (JEQ, 0, 4, 6),
    (LDB, 0, 0, 53),
    (AND, 0, 0, 0x12),  # SYN without ACK
    (JEQ, 1, 0, 0x02),
    (RET, 0, 0, 0),
    (RET, 0, 0, 128),
]
NEIGHBOURS = range(130, 144)  # of ICMPv6: the link's own business


def attach(s):
    code = b"".join(struct.pack("=HBBI", *i) for i in PROGRAM)
    buf = ctypes.create_string_buffer(code)
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("@HP", len(PROGRAM), ctypes.addressof(buf)))


def told(packet):
    """protocol, address, port; None: nothing to tell."""
    if packet[0] >> 4 == 4:
        protocol, to, rest = packet[9], socket.inet_ntoa(packet[16:20]), packet[(packet[0] & 15) * 4 :]
    elif packet[0] >> 4 == 6:
        protocol, to, rest = packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40]), packet[40:]
        if protocol in (0, 58) and (protocol == 0 or rest[0] in NEIGHBOURS):
            return None
    else:
        return None
    name = {6: "tcp", 17: "udp", 1: "icmp", 58: "icmp"}.get(protocol, protocol)
    port = struct.unpack_from("!H", rest, 2)[0] if protocol in (6, 17, 132) and len(rest) >= 4 else "-"
    return name, to, port


def start(loop, device, log):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
    attach(s)
    s.bind((device, ETH_P_ALL))
    s.setblocking(False)

    def come():
        for _ in range(100):
            try:
                packet, (_, _, kind, *_) = s.recvfrom(256)
            except BlockingIOError:
                return
            line = told(packet) if kind == PACKET_HOST and len(packet) >= 20 else None
            if line:
                log(*line)

    loop.add_reader(s, come)
