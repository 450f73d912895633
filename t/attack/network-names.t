#!/bin/sh
# Names are no way around the rules: not by another resolver, by answers that change, by names that lead inside, nor as a tunnel.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules" 'network.dns_kb = 16'
cat >"$D/rules" <<'EOF'
[names]
allow good.example
allow rebind.example
allow lan.example
allow loop.example
allow own.example
allow cnamelan.example
allow cnameevil.example
allow short.example port 80
deny all
EOF
boxd_start
BOX_SEC=150
session s
session names --network-set names
egress=$(pgrep -P "$BOXD_PID" -x box-egress)
private='^(tcp|udp) (10\.|127\.|192\.168\.|169\.254\.|fd|::|64:ff9b|185\.199\.108\.10 |2a00:1450::10 )'
nothing_private() { is "$(grep -E "$private" "$NET/wire"; cat "$HOST/visitors")" "" "$1: nothing private was touched"; }
refused='reset by peer|Couldn.t connect|Recv failure|SSL_ERROR_SYSCALL|Empty reply|refused|unexpected eof'

# ---- a resolver of its own ----
is "$(on_host "$PYTHON" - dns @8.8.8.8 A good.example <t/lib/py/inside.py)" "good.example: NOERROR 93.184.216.34" "another resolver is there, for the host"
was=$(came udp 8.8.8.8 53)
is "$(inside s dns @8.8.8.8 A good.example)" "good.example: EPERM" "by UDP it is refused at once"
is "$(inside s dns @2001:4860:4860::8888 A good.example)" "good.example: EPERM" "by IPv6 too"
is "$(inside s dns @9.9.9.9 A good.example)" "good.example: EPERM" "and the host's own resolver likewise"
is "$(inside s dns @127.0.0.53 A good.example)" "good.example: ECONNREFUSED" "there is none on another loopback"
is "$(inside names dns @8.8.8.8 tcp A good.example)" "good.example: ECONNRESET" "by TCP it is an address as any other, which these rules do not allow"
is "$(came udp 8.8.8.8 53)" "$was" "no packet of it came there"
# an address from there was not told by us, so no rule with a name knows it
like "$(inside s dns @8.8.8.8 tcp A good.example)" 'NOERROR 93.184.216.34' "where TCP to it is allowed, it answers"
is "$(inside names tcp 93.184.216.34/80)" "93.184.216.34/80: ECONNRESET" "but an address that was not told by boxd's own is no name's"

# ---- names that lead inside ----
for name in loop zero lan meta mapped nat64 own cnamelan; do
	for kind in A AAAA; do
		like "$(inside s dns $kind $name.example)" '^[a-z0-9]+.example: (NOERROR|NXDOMAIN)( type5)?$' "$name.example has no $kind address that is told"
	done
	like "$(fetch s "http://$name.example/")" "resolve|$refused" "and is not reached"
done
for name in lan loop own cnamelan; do
	like "$(fetch names "http://$name.example/")" "resolve|$refused" "a rule that names $name.example opens no address"
	like "$(fetch names "http://$name.example:8080/")" "resolve|$refused" "on no port"
done
is "$(inside s dns A mixed.example)" "mixed.example: NOERROR 93.184.216.34" "of several addresses those are told that may be used"
is "$(inside s dns AAAA mixed.example)" "mixed.example: NOERROR 2606:2800:220:1::34" "of IPv6 too"
isnt "$(net s denied)" 0 "what was left out is counted"
is "$(inside s dns PTR 7.77.168.192.in-addr.arpa 254.169.254.169.in-addr.arpa 1.0.0.127.in-addr.arpa | sed 's/.*: //' | sort -u)" NXDOMAIN "who the neighbours are is not told"
is "$(asked '.*[.]arpa')" 0 "and not asked"
nothing_private "names that lead inside"

# ---- one that changes ----
for i in 1 2 3 4 5 6 7 8; do
	inside names dns A rebind.example
	inside names tcp rebind.example/80 192.168.77.7/80
done >"$D/rebind"
like "$(cat "$D/rebind")" 'NOERROR 93.184.216.34' "a name that changes is told when it leads outside"
unlike "$(cat "$D/rebind")" 'NOERROR.* 192.168' "and not when it leads inside"
unlike "$(cat "$D/rebind")" 'OK served 192' "nor reached there"
is "$(grep -c '^192.168.77.7/80: ECONNREFUSED' "$D/rebind")" 8 "nor by its address"
nothing_private "a name that changes"

# ---- a name is for its address, port and server ----
like "$(fetch names http://good.example/)" 'host=good.example' "an allowed name"
is "$(inside names tcp short.example/8080)" "short.example/8080: ECONNRESET" "a port that its rule does not have"
like "$(inside names tcp short.example/80)" 'OK served' "one that it has, though the answer was to be forgotten at once"
like "$(fetch names http://evil.example/)" resolve "a name on the same server that is not allowed"
is "$(asked evil.example)" 0 "which was asked for nowhere"
unlike "$(fetch names https://evil.example/ --resolve evil.example:443:93.184.216.34)" 'served' "SNI: the server is not shown another name"
unlike "$(fetch names https://evil.example/ --connect-to evil.example:443:good.example:443)" 'served' "however it is asked for"
is "$(grep -c '^sni evil' "$NET/names")" 0 "never"
unlike "$(fetch names http://good.example/ -H 'Host: evil.example')" 'served' "Host: nor in plain HTTP"
unlike "$(fetch names http://good.example/ -H 'Host: evil.example:80')" 'served' "with a port"
is "$(grep -c '^host evil' "$NET/names")" 0 "never either"
on_host "$PYTHON" t/lib/py/attack_hello.py 93.184.216.34 >/dev/null
[ "$(grep -ciE '^host evil' "$NET/names")" -gt 10 ] && [ "$(grep -c '^heard evil' "$NET/names")" -gt 60 ] && [ "$(grep -ci '^sni evil' "$NET/names")" -gt 3 ]
ok "the server would write down who says another name" || diag "$(sort "$NET/names" | uniq -c)"
: >"$NET/names"
is "$(box exec names -t 140 -i -- "$PYTHON" - 93.184.216.34 ask <t/lib/py/attack_hello.py 2>/dev/null)" "the end" "the same from inside: repeated, folded, in pieces, hidden behind much"
is "$(grep -i evil "$NET/names")" "" "and it was never told"
isnt "$(visited 93.184.216.34 7008)" 0 "though the first of several requests came through"
like "$(fetch names https://good.example/)" 'sni=good.example' "the name itself still works"
unlike "$(inside names dns A cnameevil.example)" NXDOMAIN "a name that stands for one that is not allowed is that name's own business"

# ---- spellings ----
is "$(inside names dns A GOOD.EXAMPLE. good.example Good.Example | sed 's/.*: //' | sort -u)" "NOERROR 93.184.216.34" "letters and dots do not matter"
is "$(inside names dns A good.example.evil.example xgood.example good.exampl example evil.example. EVIL.example | sed 's/.*: //' | sort -u)" NXDOMAIN "a part of a name does not do"

# ---- junk ----
like "$(box exec s -t 140 -i -- "$PYTHON" - <t/lib/py/attack_dns.py 2>&1)" 'the end' "thousands of packets that are no questions"
is "$(pgrep -P "$BOXD_PID" -x box-egress)" "$egress" "box-egress lives"
like "$(inside names dns A good.example)" NOERROR "a neighbour is answered"

# ---- a tunnel ----
session tunnel
session beside
was=$(grep -c tunnel.example "$NET/questions")
box exec tunnel -t 140 -- "$PYTHON" -c '
import os, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", 53)); s.settimeout(0.02)
got = 0
for i in range(2000):
    labels = [os.urandom(30).hex().encode() for _ in range(3)] + [b"tunnel", b"example"]
    s.send(struct.pack("!HHHHHH", i, 0x100, 1, 0, 0, 0) + b"".join(bytes([len(p)]) + p for p in labels) + b"\0\0\x10\0\x01")
    try: r = s.recv(4096)
    except TimeoutError: continue
    got += len(r) if r[3] & 15 == 0 else 0
print(got)' >"$D/tunnel" 2>&1
reached=$(($(grep -c tunnel.example "$NET/questions") - was))
# 16 KiB a minute, and 16 KiB at once; a question of it is 208 bytes and more
minutes=3
[ $((reached * 200)) -lt $(((minutes + 1) * 16384)) ]
ok "what can be said by questions is bounded" || diag "$reached questions came through"
[ "$(cat "$D/tunnel")" -lt $(((minutes + 2) * 16384)) ]
ok "what can be heard by answers too" || diag "$(cat "$D/tunnel") bytes"
isnt "$(net tunnel over_limit)" 0 "it is counted as too much"
is "$(inside beside dns A good.example)" "good.example: NOERROR 93.184.216.34" "a neighbour has its own measure"
nothing_private "in all of this"
done_testing
