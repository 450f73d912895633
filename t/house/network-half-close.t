#!/bin/sh
# Each side of a connection ends for itself, a reset is a reset on the other side, and no byte before it is lost.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_start
session s
web=93.184.216.34

is "$(inside s echo $web/7001 one two three)" "$web/7001: OK 13 bytes: one two three" "a server that answers when it has heard the end"
is "$(inside s echo 2606:2800:220:1::34/7001 six)" "2606:2800:220:1::34/7001: OK 3 bytes: six" "by IPv6 too"
is "$(box exec s -t 40 -- "$PYTHON" -c '
import socket
s = socket.create_connection(("93.184.216.34", 7002))
got = b""
while more := s.recv(99): got += more
for _ in range(50): s.sendall(b"x" * 100000)
s.close()
print(got.decode().strip())')" "that is all" "a server that ends its side first"
told() { grep -q "^7002 eof 5000000\$" "$NET/ends"; }
eventually told
ok "hears all that is said to it later"
is "$(inside s echo $web/7003 x)" "$web/7003: ECONNRESET" "a server's reset is a reset"
is "$(box exec s -t 40 -c "curl -sS http://$web/reset 2>err; echo; grep -o 'reset by peer' err")" "only this
reset by peer" "after the bytes it sent before"
is "$(inside s tcp $web/7007 2606:2800:220:1::34/7007)" "$web/7007: ECONNRESET
2606:2800:220:1::34/7007: ECONNRESET" "a port where nobody listens: connected here, and reset"

# a client's reset, and a client's death
box exec s -t 40 -- "$PYTHON" -c '
import socket, struct
s = socket.create_connection(("93.184.216.34", 7005)); s.sendall(b"x" * 1000)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()'
reset() { grep -Eq "^7005 reset " "$NET/ends"; }
eventually reset
ok "a client's reset is one for the server"
box exec s -t 40 -- "$PYTHON" -c '
import os, signal, socket
s = socket.create_connection(("93.184.216.34", 7005)); s.sendall(b"x" * 777); os.kill(os.getpid(), signal.SIGKILL)' 2>/dev/null
ended() { grep -Eq "^7005 eof 777\$" "$NET/ends"; }
eventually ended
ok "a client that is killed has ended"
box exec s -t 40 -- "$PYTHON" -c '
import socket
for n in 1, 10, 100000: s = socket.create_connection(("93.184.216.34", 7006)); s.close()'
three() { [ "$(grep -c '^7006 eof 0$' "$NET/ends")" = 3 ]; }
eventually three
ok "a connection without a byte is one"

# both ways at once, in pieces of all sizes, more than any buffer holds
like "$(box exec s -t 50 -- "$PYTHON" -c '
import hashlib, os, random, socket, threading
s = socket.create_connection(("93.184.216.34", 7006))
data = os.urandom(1 << 20) * 20
def send():
    at = 0
    while at < len(data):
        n = random.choice((1, 7, 100, 4096, 65536, 1000000)); s.sendall(data[at:at + n]); at += n
    s.shutdown(socket.SHUT_WR)
t = threading.Thread(target=send); t.start()
h = hashlib.sha256(); n = 0
while more := s.recv(65536): h.update(more); n += len(more)
t.join()
print(n, h.digest() == hashlib.sha256(data).digest())')" '^20971520 True$' "an echo of 20 MiB is what was sent"

# nobody answers: told as waiting, ended with its client
inside s tcp 93.184.216.99/80 >"$D/out" 2>&1 &
client=$!
waiting() { box net s -o json | grep -q '"connecting": true'; }
eventually waiting
ok "a connection to where nobody answers is told as such"
box exec s -c "kill -9 \$(pgrep -f 'python3 - tcp')" 2>/dev/null
wait $client
none_open() { [ "$(net s open)" = 0 ]; }
eventually none_open
ok "and is given up when its client is"
done_testing
