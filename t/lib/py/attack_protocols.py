"""
Ways out of a sandbox with a network that are not TCP, and ways to change that network from within.  Runs inside;
a line for each: OK if it worked, HANGS after half a minute, else the error's name.
"""
import ctypes
import errno
import os
import signal
import socket
import struct
import sys

PATH, ABSTRACT = sys.argv[1:3]
if not os.path.isdir("/workspace"):
    sys.exit("these are for a sandbox: elsewhere some of them would work")
libc = ctypes.CDLL(None, use_errno=True)
V4, V6 = "93.184.216.34", "2606:2800:220:1::34"


def slow(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, slow)


def attempt(what, how):
    signal.alarm(30)
    try:
        r = how()
        r = r if isinstance(r, str) else "OK"
    except TimeoutError:
        r = "HANGS"
    except PermissionError as e:
        r = errno.errorcode[e.errno]
    except OSError as e:
        r = errno.errorcode.get(e.errno, str(e))
    except AttributeError:
        r = "ENOSYS"
    signal.alarm(0)
    print("%s: %s" % (what, r), flush=True)


def call(result):
    if result == -1:
        n = ctypes.get_errno()
        raise OSError(n, os.strerror(n))


# ---- packets ----------------------------------------------------------------------


def udp(family, to, data=b"x" * 64):
    def send():
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.sendto(data, to)

    return send


def udp_connected():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((V4, 9))
    s.send(b"x")


def udp_many():
    """Sent with options, to several, in one call."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.sendmsg([b"x"], [(socket.IPPROTO_IP, 8, struct.pack("=I4s4s", 1, socket.inet_aton("127.0.0.1"), b"\0" * 4))], 0, (V4, 9))


def raw(family, kind, protocol, to=None):
    def send():
        s = socket.socket(family, kind, protocol)
        if to:
            s.sendto(b"\x08\0\xf7\xff\0\0\0\0" if family == socket.AF_INET else b"\x80\0\0\0\0\0\0\0", to)

    return send


def stream(kind, protocol):
    def connect():
        s = socket.socket(socket.AF_INET, kind, protocol)
        s.settimeout(25)
        s.connect(("10.20.30.40", 80))

    return connect


attempt("udp to the internet", udp(socket.AF_INET, (V4, 9)))
attempt("udp6 to the internet", udp(socket.AF_INET6, (V6, 9)))
attempt("udp mapped", udp(socket.AF_INET6, ("::ffff:" + V4, 9)))
attempt("udp 443", udp(socket.AF_INET, (V4, 443), b"\xc0" * 1200))
attempt("udp 53", udp(socket.AF_INET, (V4, 53)))
attempt("udp to the resolver", udp(socket.AF_INET, ("9.9.9.9", 53)))
attempt("udp private", udp(socket.AF_INET, ("10.20.30.40", 53)))
attempt("udp to the host", udp(socket.AF_INET, ("185.199.108.10", 8080)))
attempt("udp multicast", udp(socket.AF_INET, ("224.0.0.251", 5353)))
attempt("udp6 multicast", udp(socket.AF_INET6, ("ff02::1%lo", 5353)))
attempt("udp connected", udp_connected)
attempt("udp with a source", udp_many)
attempt("udp large", udp(socket.AF_INET, (V4, 9), b"x" * 60000))
attempt("ping", raw(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP, (V4, 0)))
attempt("ping6", raw(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6, (V6, 0)))
attempt("raw", raw(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
attempt("raw icmp", raw(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("raw tcp", raw(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP))
attempt("raw6", raw(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
attempt("packet", raw(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
attempt("packet dgram", raw(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)))
attempt("sctp", stream(socket.SOCK_STREAM, 132))
attempt("sctp seqpacket", stream(socket.SOCK_SEQPACKET, 132))
attempt("dccp", stream(6, 33))
attempt("udplite", raw(socket.AF_INET, socket.SOCK_DGRAM, 136, (V4, 9)))
for name in "AF_VSOCK", "AF_BLUETOOTH", "AF_CAN", "AF_TIPC", "AF_ALG", "AF_RDS", "AF_KEY", "AF_QIPCRTR":
    attempt(name, lambda: socket.socket(getattr(socket, name), socket.SOCK_RAW if name in ("AF_CAN", "AF_KEY") else socket.SOCK_SEQPACKET))

# ---- its own network, from within ---------------------------------------------------


def netlink(protocol, message):
    def send():
        s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
        s.bind((0, 0))
        s.settimeout(20)
        s.send(message)
        answer = s.recv(4096)
        kind = struct.unpack_from("=H", answer, 4)[0]
        if kind == 2:  # NLMSG_ERROR
            code = -struct.unpack_from("=i", answer, 16)[0]
            if code:
                raise OSError(code, "")

    return send


def message(kind, flags, body):
    return struct.pack("=IHHII", 16 + len(body), kind, flags | 5, 1, 0) + body


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


NEWADDR = message(20, 0x600, struct.pack("=BBBBI", 2, 32, 0, 0, 1) + attribute(2, socket.inet_aton("10.20.30.40")))
DELADDR = message(21, 0, struct.pack("=BBBBI", 2, 32, 0, 0, 1) + attribute(2, socket.inet_aton("192.0.2.1")))
NEWROUTE = message(24, 0x600, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 4, 253, 1, 0) + attribute(4, struct.pack("=I", 1)))
DELROUTE = message(25, 0, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 4, 253, 1, 0) + attribute(4, struct.pack("=I", 1)))
NEWLINK = message(16, 0x600, struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, b"d0\0") + attribute(18, attribute(1, b"dummy\0")))
LINKDOWN = message(16, 0, struct.pack("=BxHiII", 0, 0, 1, 0, 1))
NEWRULE = message(32, 0x600, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 0, 0, 1, 0))
attempt("new address", netlink(0, NEWADDR))
attempt("no address", netlink(0, DELADDR))
attempt("new route", netlink(0, NEWROUTE))
attempt("no route", netlink(0, DELROUTE))
attempt("new device", netlink(0, NEWLINK))
attempt("lo down", netlink(0, LINKDOWN))
attempt("new policy", netlink(0, NEWRULE))
# a batch of nftables: delete the table "box"
BATCH = struct.pack("=BBH", 0, 0, socket.htons(10))
DELTABLE = message(10 << 8 | 2, 0, struct.pack("=BBH", 1, 0, 0) + attribute(1, b"box\0"))
attempt("nftables", netlink(12, message(0x10, 0, BATCH) + DELTABLE + message(0x11, 0, BATCH)))
attempt("conntrack", netlink(12, message(1 << 8 | 2, 0, struct.pack("=BBH", 2, 0, 0))))
attempt("audit", netlink(9, message(1000, 0, b"")))
attempt("iptables", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).getsockopt(socket.IPPROTO_IP, 64, 84) and None)
for flags, name in ((0x40000000, "net"), (0x10000000, "user"), (0x50000000, "user and net"), (0x00020000, "mount")):
    attempt("new %s namespace" % name, lambda: call(libc.unshare(flags)))
attempt("setns", lambda: call(libc.setns(os.open("/proc/1/ns/net", os.O_RDONLY), 0x40000000)))
attempt("setns of its own", lambda: call(libc.setns(os.open("/proc/self/ns/net", os.O_RDONLY), 0x40000000)))


def writable(path):
    """That it could be opened is enough."""
    return lambda: os.close(os.open(path, os.O_WRONLY))


attempt("forwarding", writable("/proc/sys/net/ipv4/ip_forward"))
attempt("low ports", writable("/proc/sys/net/ipv4/ip_unprivileged_port_start"))
attempt("route_localnet", writable("/proc/sys/net/ipv4/conf/all/route_localnet"))
attempt("ping group", writable("/proc/sys/net/ipv4/ping_group_range"))
attempt("resolv.conf", writable("/etc/resolv.conf"))
attempt("tun", lambda: os.close(os.open("/dev/net/tun", os.O_RDWR)))

# ---- what stands behind it ---------------------------------------------------------------


def taken(kind, at, *options):
    def bind():
        s = socket.socket(socket.AF_INET6 if ":" in at[0] else socket.AF_INET, kind)
        for o in options:
            s.setsockopt(socket.SOL_SOCKET, o, 1)
        s.bind(at)
        if kind == socket.SOCK_STREAM:
            s.listen()

    return bind


REUSE = (socket.SO_REUSEADDR, socket.SO_REUSEPORT)
attempt("bind 1021", taken(socket.SOCK_STREAM, ("0.0.0.0", 1021), *REUSE))
attempt("bind 1021 beside", taken(socket.SOCK_STREAM, ("127.0.0.1", 1021), *REUSE))
attempt("bind 1021 beside 6", taken(socket.SOCK_STREAM, ("::1", 1021), *REUSE))
attempt("bind udp 53", taken(socket.SOCK_DGRAM, ("127.0.0.1", 53), *REUSE))
attempt("bind udp 53 all", taken(socket.SOCK_DGRAM, ("0.0.0.0", 53), *REUSE))
attempt("bind udp 53 six", taken(socket.SOCK_DGRAM, ("::", 53), *REUSE))
attempt("bind tcp 53", taken(socket.SOCK_STREAM, ("127.0.0.1", 53), *REUSE))


def straight(address, port=1021):
    def go():
        s = socket.create_connection((address, port), 25)
        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return "OK" if s.recv(999) else "EOF"

    return go


for address in "127.0.0.1", "::1", "192.0.2.1", "2001:db8::1", "127.7.7.7", "0.0.0.0", "::ffff:127.0.0.1":
    attempt("to %s:1021" % address, straight(address))


def unix(address, kind=socket.SOCK_STREAM):
    def go():
        socket.socket(socket.AF_UNIX, kind).connect(address)

    return go


attempt("abstract socket of the host", unix("\0" + ABSTRACT))
attempt("path socket of the host", unix(PATH))
for path in "/run/boxd/boxd.sock", "/var/run/docker.sock", "/run/systemd/resolve/io.systemd.Resolve", "/run/dbus/system_bus_socket", "/run/nscd/socket":
    attempt("path " + path, unix(path))
print("the end")
