#!/bin/sh
# Network on: what is on the internet is reached by TCP and by name, at both families, and what was used is counted.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
like "$(on_host curl -sS http://93.184.216.34/)" '^served 93.184.216.34 80' "the internet of this test answers the host"
boxd_start
session s
session other
box create --name off --memory 64 >/dev/null

# ---- web, by name and by address ----
like "$(fetch s http://good.example/)" '^served [^ ]+ 80 host=good.example' "http"
like "$(fetch s https://good.example/)" '^served [^ ]+ 443 host=good.example sni=good.example' "https"
like "$(fetch s -4 http://good.example/)" '^served 93.184.216.34 80 ' "by IPv4"
like "$(fetch s -6 http://good.example/)" '^served 2606:2800:220:1::34 80 ' "by IPv6"
like "$(fetch s https://six.example/)" '^served 2606:2800:220:1::34 443 ' "a name that has IPv6 alone"
like "$(fetch s http://93.184.216.34:8443/)" '^served 93.184.216.34 8443 ' "an address, and another port"
like "$(fetch s 'http://[2606:2800:220:1::34]/')" '^served 2606:2800:220:1::34 80 ' "an address of IPv6"
like "$(inside s tcp ::ffff:93.184.216.34/80)" 'OK served 93.184.216.34 80 ' "an IPv4 address by an IPv6 socket"
like "$(fetch s http://cname.example/)" '^served [^ ]+ 80 host=cname.example' "a name that stands for another"
like "$(fetch s http://nothing.example/)" 'Could not resolve host' "a name that is none"
like "$(fetch s http://good.example:7007/)" "reset by peer|Empty reply|refused|Couldn't connect" "a port where nobody listens"

# ---- names ----
is "$(inside s dns A good.example)" "good.example: NOERROR 93.184.216.34" "DNS by UDP"
is "$(inside s dns AAAA good.example)" "good.example: NOERROR 2606:2800:220:1::34" "for IPv6"
is "$(inside s dns tcp A good.example GOOD.Example.)" "good.example: NOERROR 93.184.216.34
GOOD.Example.: NOERROR 93.184.216.34" "DNS by TCP, as it is written"
is "$(inside s dns A six.example)" "six.example: NOERROR" "a name without an address of that family"
is "$(inside s dns A nothing.example)" "nothing.example: NXDOMAIN" "a name that is none"
is "$(inside s dns A servfail.example)" "servfail.example: SERVFAIL" "one whose server fails"
like "$(inside s dns TXT big.example)" '^big.example: NOERROR TRUNCATED' "an answer too large for a packet is marked so"
like "$(inside s dns tcp TXT big.example)" '^big.example: NOERROR type16 type16 type16' "and comes by TCP"
is "$(inside s name good.example)" "good.example: OK 2606:2800:220:1::34 93.184.216.34" "libc resolves, to both"
like "$(inside s name many.example)" 'OK 93.184.0.1 .*93.184.3' "libc asks by TCP for what is large"
is "$(inside s name nothing.example)" "nothing.example: NONAME" "and says what is none"
like "$(inside s name localhost)" 'localhost: OK (127.0.0.1|::1)' "localhost is itself"

# ---- what is its own stays its own ----
is "$(box exec s -t 40 -- "$PYTHON" -c '
import socket
for family, at in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    l = socket.create_server((at, 8080), family=family)
    c = socket.create_connection((at, 8080)); a, who = l.accept(); c.sendall(b"own"); print(a.recv(9).decode(), who[0])
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 5000)); v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
v.sendto(b"udp", ("127.0.0.1", 5000)); print(u.recv(9).decode())')" "own 127.0.0.1
own ::1
udp" "a server of its own on its loopback is reached there"
is "$(wc -l <"$HOST/visitors")" 0 "and not the host's on the same port"

# ---- what is counted ----
is "$(net s mode)" egress "boxctl net tells how"
is "$(net s denied) $(net s over_limit)" "0 0" "nothing was refused"
like "$(net s dns_queries)" '^[1-9][0-9]*$' "questions are counted"
total=$(net s total) received=$(net s received_bytes) sent=$(net s sent_bytes)
is "$(fetch s http://good.example/bytes/5000000 | wc -c)" 5000000 "five million bytes come in"
is "$(box exec s -c 'head -c 3000000 /dev/zero | curl -sS -T - -H Transfer-Encoding: -H "Content-Length: 3000000" http://good.example/sink')" \
	"received 3000000 $(head -c 3000000 /dev/zero | sha256sum | cut -d' ' -f1)" "three million go out"
counted() { [ "$(net s total)" -ge $((total + 2)) ] && [ "$(net s open)" = 0 ]; }
eventually counted
ok "both are counted, and closed"
in=$(($(net s received_bytes) - received)) out=$(($(net s sent_bytes) - sent))
[ $in -ge 5000000 ] && [ $in -lt 5010000 ]
ok "bytes in, with what HTTP adds" || diag "$in"
[ $out -ge 3000000 ] && [ $out -lt 3010000 ]
ok "bytes out likewise" || diag "$out"
failed=$(net s failed)
fetch s http://good.example:7007/ >/dev/null
more_failed() { [ "$(net s failed)" -gt "$failed" ]; }
eventually more_failed
ok "what the other side refused is counted"
is "$(net other total) $(net other received_bytes) $(net other dns_queries)" "0 0 0" "another session has numbers of its own"

# ---- connections that stand ----
later "$D/held" exec s -t 50 -- curl -sSN http://good.example/hold
eventually grep -q held "$D/held"
box net s -o json >"$D/json"
is "$(sed -n '/"flows"/,$p' "$D/json" | field name)" good.example "an open connection is told: its name"
like "$(sed -n '/"flows"/,$p' "$D/json" | field address)" '^(93.184.216.34|2606:2800:220:1::34)$' "its address"
is "$(sed -n '/"flows"/,$p' "$D/json" | field port)" 80 "its port"
is "$(net s open)" 1 "and counted"
like "$(box net s)" 'good.example' "for people too"
like "$(box inspect s)" 'net:' "inspect has it"
box inspect s -o json >"$D/json"
is "$(sed -n '/"net": {/,/^  }/p' "$D/json" | field mode)" egress "as JSON too"
kill $LATER
wait $LATER
none_open() { [ "$(net s open)" = 0 ]; }
eventually none_open
ok "its client goes, and it is closed"

# ---- without ----
is "$(net off mode)" off "a session without a network has none"
like "$(box exec off -t 40 -- curl -sS http://93.184.216.34/ 2>&1)" "Couldn't connect|Network is unreachable|Failed to connect" "also beside those that have one"
like "$(box net nosuch 2>&1)" 'nosuch' "a session that is not there"

# ---- the process that stands between ----
egress=$(pgrep -P "$BOXD_PID" -x box-egress)
like "$egress" '^[0-9]+$' "there is one box-egress, for all sessions"
status=$(cat "/proc/$egress/status")
unlike "$status" '^Uid:.*[[:space:]]0([[:space:]]|$)' "it is not root"
like "$status" '^CapEff:[[:space:]]+0+$' "without a capability"
like "$status" '^CapBnd:[[:space:]]+0+$' "in no set"
like "$status" '^Seccomp:[[:space:]]+2$' "behind a filter"
like "$status" '^NoNewPrivs:[[:space:]]+1$' "for good"
is "$(ls -A "/proc/$egress/root/")" "" "in an empty root"
is "$(readlink "/proc/$egress/ns/net")" "$(readlink "/proc/$BOXD_PID/ns/net")" "in the host's network namespace"
done_testing
