#!/bin/sh
# No spelling of a private, local or reserved address leads anywhere from a sandbox with a network, nor does the host's own.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_start
session s
BOX_SEC=200

# An address inside each range of netrange.def, not its first, and the last; what has to be written in another way is.
"$PYTHON" - proto/base/netrange.def >"$D/ranges" <<'EOF'
import ipaddress, re, sys
for net, prefix, what in re.findall(r'^RANGE\("([^"]+)", (\d+), "([^"]+)"', open(sys.argv[1]).read(), re.M):
    n = ipaddress.ip_network(f"{net}/{prefix}")
    for a in {n[min(n.num_addresses - 1, 0x0203)], n[-1], n[0]}:
        if a.is_multicast and a.version == 4 or str(a) == "255.255.255.255":
            continue  # the kernel itself connects to none
        print(a)
EOF
grep -c . "$D/ranges" | grep -Eq '^([5-9][0-9]|1[0-9][0-9])$'
ok "there are addresses of all ranges"

# The control: from the host these are reached, so nothing but boxd stands between.
on_host "$PYTHON" - tcp $(sed 's|$|/80|' "$D/ranges") <t/lib/py/inside.py >"$D/control" 2>&1
for a in 10.2.3 172.16.2.3 192.168.2.3 169.254.2.3 100.64.2.3 168.63.129.16 198.51.100.255 240.0.2.3 2001:db8::203 fc00::203 fec0::203 64:ff9b::203 2002::203; do
	case $a in 10.2.3) a=10.0.2.3 ;; esac
	grep -q "^$a/80: OK served" "$D/control"
	ok "the host reaches $a"
done
for a in 93.184.216.34/80 169.254.169.254/80 fd00:ec2::254/80 192.168.77.7/80 10.20.30.40/8080; do
	like "$(on_host "$PYTHON" - tcp $a <t/lib/py/inside.py)" 'OK served' "the host reaches $a"
done
: >"$NET/wire" && : >"$NET/visitors" && : >"$HOST/visitors"

# ---- each of them, plainly ----
inside s tcp $(sed 's|$|/80|' "$D/ranges") >"$D/in"
is "$(grep -c . "$D/in")" "$(grep -c . "$D/ranges")" "every one was tried"
is "$(grep -vE ': (ECONNREFUSED|ENETUNREACH|EINVAL|EADDRNOTAVAIL|EHOSTUNREACH|EACCES)$' "$D/in")" "" "all of them are refused by connect"
is "$(cat "$NET/wire" "$HOST/visitors")" "" "no packet went out, nobody came to the host"
counted=$(grep -cE ': ECONNREFUSED$' "$D/in")
local=$(grep -cE '^(127\.|0\.0\.0\.0/|192\.0\.2\.1/|::1/|::/|::ffff:0:0/|2001:db8::1/).*: ECONNREFUSED$' "$D/in")
eventually denied_at_least s $((counted - local))
ok "what was refused is counted"
like "$(box net s)" 'built-in:' "with the reason"

# ---- the same by UDP ----
inside s udp $(sed 's|$|/53|' "$D/ranges") 224.0.0.251/5353 255.255.255.255/9 ff02::fb/5353 >"$D/in"
is "$(grep -E ': (OK|HANGS)' "$D/in" | grep -vE '^(127.0.0.1|0.0.0.0|::ffff:0:0)/')" "" "nothing answers by UDP"
is "$(grep -E ': SENT' "$D/in" | grep -vE '^(127\.|0\.0\.0\.0/|::1/|::/|192\.0\.2\.1/|2001:db8::1/)')" "" "and no packet is taken that is not for itself"
is "$(cat "$NET/wire")" "" "none is on the wire"

# ---- odd spellings of the same ----
odd="0177.0.0.1 2130706433 0x7f.1 0x7f000001 127.1 0 0.0 017700000001
	0xa9fea9fe 2852039166 169.16689662 0251.0376.0251.0376 0xa9.254.0251.254 0x0a141e28 10.1318440 012.024.036.050 192.168.19719 0xc0a84d07
	::ffff:10.20.30.40 ::ffff:a14:1e28 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:0 0:0:0:0:0:ffff:c0a8:4d07
	::10.20.30.40 ::127.0.0.1 64:ff9b::10.20.30.40 64:ff9b::a9fe:a9fe ::ffff:0:10.20.30.40 ::ffff:0:127.0.0.1 200::1 4000::1 64:ff9b:1::10.20.30.40 2002:a14:1e28::1 2002:7f00:1::1
	2001:0:a14:1e28::1 fe80::1%lo fe80::1%1 ff02::1%lo ::1%lo 0000:0000:0000:0000:0000:0000:0000:0001 fd00:0ec2:0:0:0:0:0:0254 FD12:3456::7"
inside s tcp $(for a in $odd; do echo "$a/80 $a/8080"; done) >"$D/in"
is "$(grep -c . "$D/in")" "$(($(echo $odd | wc -w) * 2))" "every spelling was tried"
is "$(grep -vE ': (ECONNREFUSED|ENETUNREACH|EINVAL|EADDRNOTAVAIL|EHOSTUNREACH|NONAME)$' "$D/in")" "" "none of them helps"
is "$(cat "$NET/wire" "$NET/visitors" "$HOST/visitors")" "" "nothing went out"

# ---- the host by its own addresses ----
is "$(inside s tcp 185.199.108.10/8080 2a00:1450::10/8080 ::ffff:185.199.108.10/8080 185.199.108.10/22 | sort -u | sed 's/.*: //' | sort -u)" ECONNRESET "the host's own public addresses: reset"
is "$(cat "$HOST/visitors")" "" "nobody came"
like "$(inside s tcp 185.199.108.255/80)" ': E(CONNRESET|CONNREFUSED|ACCES|NETUNREACH)$' "nor its network's broadcast"
on_host ip addr add 185.199.108.77/32 dev lo
is "$(inside s tcp 185.199.108.77/8080)" "185.199.108.77/8080: ECONNRESET" "an address that the host was given later"
is "$(cat "$HOST/visitors")" "" "nobody came either"

is "$(net s total)" 0 "no connection was let out in all this"

# ---- other ways to begin a connection ----
inside_attack() { box exec s -t 100 -i -- "$PYTHON" - "$@" <t/lib/py/attack_connect.py 2>&1; }
inside_attack >"$D/in"
is "$(grep -E ': (OK|HANGS)' "$D/in")" "" "fast open, MPTCP, bound sources, marks, source routes and options: none of them helps" || diag "$(cat "$D/in")"
like "$(cat "$D/in")" 'the end' "all were tried"
is "$(cat "$NET/wire" "$NET/visitors" "$HOST/visitors" | grep -vE ' (93.184.216.34|2606:2800:220:1::34) 7005')" "" "nothing went out"

# ---- and it still works ----
like "$(inside s tcp 93.184.216.34/80)" 'OK served' "while the internet is open"
done_testing
