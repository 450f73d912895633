#!/bin/sh
# With a network, TCP goes out by the rules and nothing else does: no other protocol, device, route, namespace or socket.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules"
echo 'deny 151.101.0.223' >"$D/rules"
boxd_start
BOX_SEC=150
session s
session neighbour
# on the host, in the namespace where box-egress is: abstract and path sockets
nsenter --net="/run/netns/$_host" "$PYTHON" -c '
import socket, sys
a = socket.socket(socket.AF_UNIX); a.bind("\0boxd-t-'$$'"); a.listen()
p = socket.socket(socket.AF_UNIX); p.bind(sys.argv[1] + "/path.sock"); p.listen()
print("ready", flush=True)
import time
time.sleep(600)' "$D" >"$D/unix" 2>&1 &
listener=$!
eventually grep -q ready "$D/unix"
: >"$NET/wire"

box exec s -t 140 -i -- "$PYTHON" - "$D/path.sock" "boxd-t-$$" <t/lib/py/attack_protocols.py >"$D/in" 2>&1
like "$(cat "$D/in")" '^the end$' "all attacks were tried"
is "$(grep -E ': (OK|HANGS)' "$D/in")" "" "none of them worked" || diag "$(cat "$D/in")"
said() { sed -n "s/^$1: //p" "$D/in"; }
for what in 'udp to the internet' 'udp6 to the internet' 'udp 443' 'udp to the resolver' 'udp connected' 'udp multicast'; do
	like "$(said "$what")" '^E(PERM|HOSTUNREACH|NETUNREACH|ACCES|ADDRNOTAVAIL)' "at once: $what"
done
for what in 'ping' 'ping6' 'raw' 'raw icmp' 'raw6' 'packet' 'sctp' 'dccp' 'udplite'; do
	like "$(said "$what")" '^E' "not there, or refused: $what"
done
like "$(said 'bind 1021')" '^E(ACCES|ADDRINUSE)$' "the port behind everything cannot be taken"
like "$(said 'bind udp 53')" '^E(ACCES|ADDRINUSE)$' "nor that of names"
for what in 'to 127.0.0.1:1021' 'to ::1:1021' 'to 192.0.2.1:1021' 'to 2001:db8::1:1021'; do
	like "$(said "$what")" '^(E|EOF)' "straight to box-egress: $what"
done
is "$(grep -vE '^udp (9.9.9.9|2620:fe::fe) 53$' "$NET/wire" | grep -v '^tcp 93.184.216.34 ')" "" "nothing was on the wire that is not TCP to where it may go"
is "$(cat "$HOST/visitors")" "" "nobody came to the host"

# ---- what a second process relays is refused as the first ----
is "$(box exec s -t 50 -- "$PYTHON" -c '
import socket, threading
l = socket.create_server(("127.0.0.1", 9999))
def relay():
    c, _ = l.accept()
    try:
        o = socket.create_connection(("10.20.30.40", 80)); o.sendall(c.recv(99)); c.sendall(o.recv(999))
    except OSError as e: c.sendall(type(e).__name__.encode())
    c.close()
threading.Thread(target=relay).start()
c = socket.create_connection(("127.0.0.1", 9999)); c.sendall(b"GET / HTTP/1.1\r\n\r\n"); print(c.recv(999).decode())' 2>/dev/null)" ConnectionRefusedError "a relay inside gains nothing"

# ---- sessions do not meet ----
later "$D/neighbour" exec neighbour -t 140 -- "$PYTHON" -c '
import socket, time
a = socket.create_server(("0.0.0.0", 7123)); b = socket.create_server(("::", 7124), family=socket.AF_INET6)
u = socket.socket(socket.AF_UNIX); u.bind("\0neighbour"); u.listen()
print("ready", flush=True); time.sleep(130)'
neighbour=$LATER
eventually grep -q ready "$D/neighbour"
like "$(inside s tcp 192.0.2.1/7123 127.0.0.1/7123 2001:db8::1/7124 ::1/7124 192.0.2.2/7123)" '^192.0.2.1/7123: ECONNREFUSED' "another session's servers"
unlike "$(inside s tcp 192.0.2.1/7123 127.0.0.1/7123 2001:db8::1/7124 ::1/7124 192.0.2.2/7123)" ': (OK|EOF|HANGS)' "are not there, by no address"

# ---- and what is allowed still works ----
like "$(inside s tcp 93.184.216.34/80)" 'OK served' "the internet is open"
is "$(inside s tcp 151.101.0.223/80)" "151.101.0.223/80: ECONNRESET" "and the rules hold"
kill $listener $neighbour
wait $listener $neighbour 2>/dev/null
done_testing
