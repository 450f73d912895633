"""
Ways to begin a TCP connection that a rule could overlook, each to an address that is denied.  Runs inside a sandbox;
says "how, where: OK" if a page came, HANGS after half a minute, and else the error's name.
"""
import ctypes
import errno
import signal
import socket
import struct

DENIED = [("10.20.30.40", 80), ("169.254.169.254", 80), ("185.199.108.10", 8080), ("fd00:ec2::254", 80), ("2a00:1450::10", 8080)]
MSG_FASTOPEN, TCP_FASTOPEN_CONNECT, IPPROTO_MPTCP = 0x20000000, 30, 262
IP_TRANSPARENT, IP_FREEBIND, IP_OPTIONS, IP_BIND_ADDRESS_NO_PORT, SO_MARK = 19, 15, 4, 24, 36
PAGE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def family(to):
    return socket.AF_INET6 if ":" in to[0] else socket.AF_INET


def slow(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, slow)


def plain(to, protocol=0):
    return socket.socket(family(to), socket.SOCK_STREAM, protocol)


def read(s):
    return "OK" if b"served" in s.recv(4096) else "EOF"


def simple(s, to):
    s.connect(to)
    s.sendall(PAGE)
    return read(s)


def fast_open(to):
    s = plain(to)
    s.sendto(PAGE, MSG_FASTOPEN, to)
    return read(s)


def fast_open_connect(to):
    s = plain(to)
    s.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
    return simple(s, to)


def mptcp(to):
    return simple(plain(to, IPPROTO_MPTCP), to)


def mapped(to):
    if ":" in to[0]:
        return "EINVAL"
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    return simple(s, ("::ffff:" + to[0], to[1]))


def option(level, name, value):
    def with_option(to):
        s = plain(to)
        s.setsockopt(level, name, value)
        return simple(s, to)

    return with_option


def from_address(four, six, free=False):
    def bound(to):
        s = plain(to)
        if free:
            s.setsockopt(socket.IPPROTO_IP if ":" not in to[0] else socket.IPPROTO_IPV6, IP_FREEBIND if ":" not in to[0] else 78, 1)
        s.bind((six if ":" in to[0] else four, 0))
        return simple(s, to)

    return bound


def from_port(port):
    def bound(to):
        s = plain(to)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("::" if ":" in to[0] else "0.0.0.0", port))
        return simple(s, to)

    return bound


def on_device(to):
    s = plain(to)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
    return simple(s, to)


def source_route(to):
    """By way of ourselves, and of the internet."""
    s = plain(to)
    for via in ("127.0.0.1", "93.184.216.34"):
        s.setsockopt(socket.IPPROTO_IP, IP_OPTIONS, struct.pack("BBB", 0x83, 7, 4) + socket.inet_aton(via) + b"\0")
    return simple(s, to)


def again(to):
    """A socket that was connected to what is allowed, disconnected, and used anew."""
    s = plain(to)
    s.connect(("2606:2800:220:1::34" if ":" in to[0] else "93.184.216.34", 7005))
    class sockaddr(ctypes.Structure):
        _fields_ = [("family", ctypes.c_ushort), ("data", ctypes.c_char * 26)]
    ctypes.CDLL(None).connect(s.fileno(), ctypes.byref(sockaddr(0)), 28)
    return simple(s, to)


def not_waiting(to):
    s = plain(to)
    s.setblocking(False)
    s.connect_ex(to)
    s.setblocking(True)
    try:
        s.sendall(PAGE)
    except BlockingIOError:
        pass
    return read(s)


def same_source(to):
    """The same four numbers as a connection that is open, as far as that goes."""
    a = plain(to)
    a.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    a.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    a.connect(("2606:2800:220:1::34" if ":" in to[0] else "93.184.216.34", 7005))
    s = plain(to)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(a.getsockname()[:2])
    return simple(s, to)


WAYS = {
    "plain": lambda to: simple(plain(to), to),
    "fast open": fast_open,
    "fast open by connect": fast_open_connect,
    "mptcp": mptcp,
    "mapped": mapped,
    "mark": option(socket.SOL_SOCKET, SO_MARK, 1),
    "transparent": option(socket.IPPROTO_IP, IP_TRANSPARENT, 1),
    "don't route": option(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1),
    "type of service": option(socket.IPPROTO_IP, socket.IP_TOS, 0xFC),
    "from loopback": from_address("127.0.0.1", "::1"),
    "from another loopback": from_address("127.9.9.9", "::1"),
    "from its address": from_address("192.0.2.1", "2001:db8::1"),
    "from anywhere": from_address("10.20.30.41", "fd00:ec2::255", True),
    "from the target": lambda to: from_address(to[0], to[0], True)(to),
    "from port 1021": from_port(1021),
    "from port 53": from_port(53),
    "from port 80": from_port(80),
    "from a port": from_port(45678),
    "by device": on_device,
    "source route": source_route,
    "again": again,
    "not waiting": not_waiting,
    "same source": same_source,
}

# from where no answer finds back: it waits for ever, by its own fault
NO_WAY_BACK = ("from anywhere", "from the target")

for how, way in WAYS.items():
    for to in DENIED:
        signal.alarm(3 if how in NO_WAY_BACK else 30)
        try:
            what = way(to)
        except TimeoutError:
            what = "no answer" if how in NO_WAY_BACK else "HANGS"
        except OSError as e:
            what = errno.errorcode.get(e.errno, str(e))
        signal.alarm(0)
        print("%s, %s: %s" % (how, to[0], what), flush=True)
print("the end")
