"""
Too much of everything, from inside a sandbox.  Says what became of it, then holds what it has until /tmp/stop is there.

	storm N ADDRESS/PORT     N connections at once, by several processes
	churn N ADDRESS/PORT     N connections, each reset as soon as it stands
	ask   N NAME             N questions for a name, and nobody waits for the answers
	drip  N ADDRESS/PORT     N connections that send a byte now and then
"""
import errno
import os
import resource
import select
import socket
import struct
import sys
import time

PROCESSES = 8
WAIT = 60  # seconds without any event: nothing more comes


def split(at):
    address, port = at.rsplit("/", 1)
    return (socket.AF_INET6 if ":" in address else socket.AF_INET), (address, int(port))


def start(n, at):
    family, to = split(at)
    sockets, failed = {}, 0
    for _ in range(n):
        try:
            s = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            e = s.connect_ex(to)
        except OSError:
            failed += 1
            continue
        if e in (0, errno.EINPROGRESS):
            sockets[s.fileno()] = s
        else:
            failed += 1
    return sockets, failed


def settle(sockets):
    """Until each is open or cut: how many were cut.  The open ones stay in sockets."""
    poll = select.epoll()
    for fd in sockets:
        poll.register(fd, select.EPOLLOUT | select.EPOLLIN | select.EPOLLET)
    writable, cut = set(), 0
    quiet = time.monotonic()
    while time.monotonic() - quiet < (3 if len(writable) == len(sockets) else WAIT):
        for fd, what in poll.poll(0.5):
            quiet = time.monotonic()
            if what & (select.EPOLLERR | select.EPOLLHUP | select.EPOLLIN):
                poll.unregister(fd)
                sockets.pop(fd).close()
                writable.discard(fd)
                cut += 1
            elif what & select.EPOLLOUT:
                writable.add(fd)
    return cut


def hold():
    while not os.path.exists("/tmp/stop"):
        time.sleep(0.05)


def storm(n, at, keep):
    sockets, failed = start(n, at)
    cut = settle(sockets)
    os.write(keep, struct.pack("III", len(sockets), cut, failed))
    hold()


def churn(n, at, keep):
    family, to = split(at)
    done = [0, 0, 0]
    for _ in range(n):
        s = socket.socket(family)
        s.settimeout(WAIT)
        try:
            s.connect(to)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            done[0] += 1
        except ConnectionError:
            done[1] += 1
        except OSError:
            done[2] += 1
        s.close()
    os.write(keep, struct.pack("III", *done))


def ask(n, name, keep):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", 53))
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split("."))
    sent = 0
    for i in range(n):
        try:
            s.send(struct.pack("!HHHHHH", i & 0xFFFF, 0x0100, 1, 0, 0, 0) + labels + b"\0\0\1\0\1")
            sent += 1
        except OSError:
            pass
    os.write(keep, struct.pack("III", sent, 0, 0))


def drip(n, at, keep):
    sockets, failed = start(n, at)
    cut = settle(sockets)
    os.write(keep, struct.pack("III", len(sockets), cut, failed))
    while not os.path.exists("/tmp/stop"):
        for s in sockets.values():
            try:
                s.send(b"x")
            except OSError:
                pass
        time.sleep(0.1)


verb, n, at = globals()[sys.argv[1]], int(sys.argv[2]), sys.argv[3]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
us, theirs = os.pipe()
for _ in range(PROCESSES):
    if os.fork() == 0:
        verb(n // PROCESSES, at, theirs)
        os._exit(0)
os.close(theirs)
total = [0, 0, 0]
for _ in range(PROCESSES):
    total = [a + b for a, b in zip(total, struct.unpack("III", os.read(us, 12)))]
print("%s: open=%d cut=%d failed=%d" % (sys.argv[1], *total), flush=True)
for _ in range(PROCESSES):
    os.wait()
