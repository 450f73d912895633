"""
Connections that come and go as fast as can be: the kernel remembers each for a while, in memory that no limit counts.

	attack_tracked.py HOW N ADDRESS PORT	(0: any)
		begin	give up at once what was begun
		whole	wait until it stands, then end it
		half	end our side alone, and forget it
		reset	end it with a reset
"""
import os
import random
import select
import socket
import struct
import sys

how, n, at, port = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
if os.getpid() == 1 or not os.path.isdir("/workspace"):
    sys.exit("not in a sandbox")


def one():
    s = socket.socket(socket.AF_INET6 if ":" in at else socket.AF_INET)
    s.setblocking(False)
    if at == "127.0.0.1":  # ports are few, but every address of 127.0.0.0/8 has them all
        s.bind(("127.%d.%d.%d" % tuple(os.urandom(3)), 0))
    s.connect_ex((at, port or random.randrange(1, 65536)))
    if how != "begin":
        select.select([], [s], [], 0.2)
    if how == "half":
        try:
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass
    if how == "reset":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


workers = 4
for _ in range(workers):
    if os.fork() == 0:
        for _ in range(n // workers):
            one()
        os._exit(0)
for _ in range(workers):
    os.wait()
print("the end")
