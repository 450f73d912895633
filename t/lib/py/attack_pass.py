"""
Descriptors handed from one session to another through a socket in a directory that both have.

	attack_pass.py give PATH	hand out, again and again: a connection, and a socket that is not connected
	attack_pass.py take PATH ADDRESS PORT...	use them; then wait until the connection ends, and try once more
	attack_pass.py reach PATH...	which sockets can be connected to; "@name" is an abstract one
"""
import array
import os
import socket
import sys

if not os.path.isdir("/workspace"):
    sys.exit("not in a sandbox")
verb, path = sys.argv[1], sys.argv[2]
REQUEST = b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"
INTERNET = ("93.184.216.34", 80)


def word(e):
    return type(e).__name__


def give():
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    os.chmod(path, 0o777)
    s.listen()
    also = socket.socket(socket.AF_UNIX)
    also.bind("\0pass")
    also.listen()
    print("ready", flush=True)
    while True:
        c, _ = s.accept()
        out = [socket.create_connection(("93.184.216.34", 7006)), socket.socket(), socket.socket(), socket.socket()]
        fds = array.array("i", [o.fileno() for o in out])
        c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        c.close()
        for o in out:
            o.close()


def try_connect(s, to):
    try:
        s.settimeout(30)
        s.connect(to)
        s.sendall(REQUEST)
        return "reached" if s.recv(100) else "nothing"
    except OSError as e:
        return word(e)


def take():
    c = socket.socket(socket.AF_UNIX)
    c.connect(path)
    _, control, _, _ = c.recvmsg(1, socket.CMSG_SPACE(4 * 4))
    fds = array.array("i")
    fds.frombytes(control[0][2])
    held, a, b, late = (socket.socket(fileno=fd) for fd in fds)
    held.sendall(b"echo")
    print("passed:", held.recv(9).decode(), flush=True)
    print("allowed:", try_connect(a, INTERNET), flush=True)
    print("denied:", try_connect(b, (sys.argv[3], int(sys.argv[4]))), flush=True)
    print("own:", try_connect(socket.socket(), INTERNET), flush=True)
    try:
        print("then:", held.recv(9) or "the end", flush=True)
    except OSError as e:
        print("then: the end", word(e), flush=True)
    print("late:", try_connect(late, INTERNET), flush=True)


def reach():
    for p in sys.argv[2:]:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect("\0" + p[1:] if p[0] == "@" else p)
            print(p, "reached")
        except OSError as e:
            print(p, word(e))


{"give": give, "take": take, "reach": reach}[verb]()
