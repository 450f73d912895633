"""
What is no question, to the socket where questions are answered, by UDP and TCP.  Runs inside a sandbox; never minds
what comes back.
"""
import os
import random
import socket
import struct

random.seed(7)
HEAD = struct.pack("!HHHHHH", 1, 0x0100, 1, 0, 0, 0)
NAME = b"\4good\7example\0"


def head(flags=0x0100, *counts):
    return struct.pack("!HHHHHH", 7, flags, *counts)


ODD = [
    b"",
    b"\0",
    HEAD[:11],
    HEAD,
    HEAD + NAME,
    HEAD + NAME + b"\0\1",
    HEAD + NAME + b"\0\1\0",
    HEAD + b"\xc0\x0c\0\1\0\1",  # a name that is itself
    HEAD + b"\xc0\x0e\xc0\x0c\0\1\0\1",
    HEAD + b"\x3f" + b"a" * 62 + b"\0\0\1\0\1",  # a label longer than what is there
    HEAD + (b"\x3f" + b"a" * 63) * 4 + b"\0\0\1\0\1",  # a name of more than 255
    HEAD + b"\1." * 127 + b"\0\0\1\0\1",
    HEAD + b"\0\0\1\0\1",  # the root
    HEAD + b"\x40abc\0\0\1\0\1",  # labels of kinds that are none
    HEAD + b"\x80abc\0\0\1\0\1",
    HEAD + b"\4go\0d\7example\0\0\1\0\1",
    HEAD + b"\4go\nd\7example\0\0\1\0\1",
    HEAD + b"\5go.od\7example\0\0\1\0\1",
    HEAD + b"\4\xff\xfe\x80\x00\7example\0\0\1\0\1",
    HEAD + NAME + b"\0\xff\0\1",  # ANY, AXFR, IXFR, OPT, NULL, other classes
    HEAD + NAME + b"\0\xfc\0\1",
    HEAD + NAME + b"\0\xfb\0\1",
    HEAD + NAME + b"\0\x29\0\1",
    HEAD + NAME + b"\0\x0a\0\1",
    HEAD + NAME + b"\0\1\0\3",
    HEAD + NAME + b"\0\1\0\xff",
    head(0x8180, 1, 0, 0, 0) + NAME + b"\0\1\0\1",  # an answer
    head(0x2800, 1, 0, 0, 0) + NAME + b"\0\1\0\1",  # an update
    head(0x0100, 2, 0, 0, 0) + (NAME + b"\0\1\0\1") * 2,
    head(0x0100, 65535, 65535, 65535, 65535) + NAME + b"\0\1\0\1",
    head(0x0100, 0, 1, 0, 0) + NAME + b"\0\1\0\1\0\0\0\0\0\4\1\2\3\4",
    head(0x0100, 1, 0, 0, 1) + NAME + b"\0\1\0\1" + b"\0\0\x29\xff\xff\0\0\0\0\xff\xff",  # options longer than they are
    head(0x0100, 1, 0, 0, 1) + NAME + b"\0\1\0\1" + b"\0\0\x29\0\0\0\xff\0\0\0\0",
    head(0x0100, 1, 0, 0, 9) + NAME + b"\0\1\0\1" + b"\0\0\x29\x04\xd0\0\0\0\0\0\0" * 9,
    HEAD + NAME + b"\0\1\0\1" + os.urandom(900),
    os.urandom(65507),
]


def udp(packet):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", 53))
    try:
        s.send(packet)
    except OSError:
        pass
    s.close()


def tcp(data, wait=False):
    s = socket.socket()
    s.settimeout(0.05)
    try:
        s.connect(("127.0.0.1", 53))
        s.sendall(data)
        if wait:
            s.recv(100)
    except OSError:
        pass
    return s


for p in ODD:
    udp(p)
    tcp(struct.pack("!H", min(len(p), 65535)) + p, True).close()
    tcp(struct.pack("!H", 65535) + p[:1000]).close()  # more was promised
    tcp(p[:3]).close()
good = HEAD + NAME + b"\0\1\0\1"
for i in range(3000):  # a question with a few bytes changed
    p = bytearray(good)
    for _ in range(random.randrange(1, 5)):
        p[random.randrange(len(p))] = random.randrange(256)
    udp(bytes(p[: random.randrange(1, len(p) + 1)]) if i % 3 == 0 else bytes(p))
for _ in range(2000):
    udp(os.urandom(random.randrange(600)))
framed = struct.pack("!H", len(good)) + good
tcp(framed * 500).close()  # and nobody reads the answers
held = [tcp(framed[:n % 20]) for n in range(200)]  # held open, and not finished
tcp(b"\0\0" * 3000).close()
for n in range(1, len(framed)):  # byte by byte
    s = tcp(framed[:n])
    try:
        s.sendall(framed[n:])
        s.recv(100)
    except OSError:
        pass
    s.close()
print("the end")
