#!/bin/sh
# A gigabyte each way, whole, and box-egress needs no more memory for it than for a page.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
BOX_SEC=580
boxd_start
session s
session slow
gib=1073741824
fetch s http://good.example/ >/dev/null
egress=$(pgrep -P "$BOXD_PID" -x box-egress)
rss() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$egress/status"; }
before=$(rss)
# the peak, looked at from outside; clear_refs 5 makes the kernel's own mark begin anew
echo 5 >"/proc/$egress/clear_refs" 2>/dev/null
peak() { awk '$1 == "VmHWM:" { print $2 }' "/proc/$egress/status"; }
most=16384 # KiB: buffers of a handful of connections, and what a sanitizer keeps aside
[ -z "$(grep -c __asan_init "$BUILD/box-egress" | grep -v '^0')" ] || most=131072
flat() { # name
	[ $(($(peak) - before)) -lt $most ]
	ok "$1" || diag "$before KiB before, $(peak) KiB at most"
}

want=$("$PYTHON" -c '
import hashlib
b = hashlib.shake_256(b"boxd").digest(1 << 20); h = hashlib.sha256()
for _ in range(1024): h.update(b)
print(h.hexdigest())')
is "$(box exec s -t 500 -c "curl -sS http://good.example/bytes/$gib | sha256sum" 2>&1)" "$want  -" "1 GiB comes in as it is"
flat "in memory that does not grow"
zeros=$(head -c $gib /dev/zero | sha256sum | cut -d' ' -f1)
is "$(box exec s -t 500 -c "head -c $gib /dev/zero | curl -sS -T - -H 'Transfer-Encoding:' -H 'Content-Length: $gib' http://good.example/sink" 2>&1)" \
	"received $gib $zeros" "1 GiB goes out as it is"
flat "likewise"
is "$(box exec s -t 500 -c "for i in 1 2 3 4 5 6 7 8; do curl -sS http://good.example/bytes/67108864 | wc -c & done; wait" | sort -u)" 67108864 "eight at once"
flat "flat too"

# readers that do not read, on either side: the sender waits, and nobody keeps what it cannot send on
later "$D/slow" exec slow -t 500 -- "$PYTHON" -c '
import socket, sys, time
s = [socket.create_connection(("93.184.216.34", 80)) for _ in range(8)]
for c in s: c.sendall(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: x\r\n\r\n")
u = [socket.create_connection(("93.184.216.34", 7004)) for _ in range(8)]
for c in u: c.setblocking(False)
# as much as goes: how large the buffers on the way are is up to the machine
n, still = 0, 0
while still < 20:
    now = n
    for c in u:
        try:
            while True: n += c.send(b"x" * 65536)
        except BlockingIOError: pass
    still = still + 1 if now == n else 0
    time.sleep(0.05)
print("stuck", flush=True)
time.sleep(500)'
EVENTUALLY_SEC=480
eventually grep -q stuck "$D/slow"
ok "sixteen connections are stuck" || diag "$(cat "$D/slow")"
flat "and cost no memory beyond their buffers"
like "$(fetch s http://good.example/)" '^served' "a neighbour does not wait for them"
like "$(fetch slow http://good.example/)" '^served' "nor does their own session"
kill $LATER
wait $LATER
done_testing
