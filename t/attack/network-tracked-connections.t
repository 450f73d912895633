#!/bin/sh
# What the kernel remembers of a session's connections is bounded, and takes no room that the host or a neighbour has.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_start
BOX_SEC=590
session s --pids 64
session neighbour
count=/proc/sys/net/netfilter/nf_conntrack_count
init=$(box inspect s -o json | field init_pid)
of() { nsenter --net="/proc/$init/ns/net" cat $count; }
of s >/dev/null 2>&1 || plan skip_all "this kernel does not tell what it remembers ($count)"

# attack HOW N ADDRESS PORT: the most that was remembered meanwhile is in $most
attack() {
	box exec s -t 300 -i -- "$PYTHON" - "$@" <t/lib/py/attack_tracked.py >"$D/attack" 2>"$D/attack.err" &
	_attack=$!
	most=0
	while kill -0 $_attack 2>/dev/null; do
		_n=$(of s)
		[ "$_n" -le "$most" ] || most=$_n
	done
	wait $_attack
	like "$(cat "$D/attack" "$D/attack.err")" 'the end' "tried: $*"
}
# 4000 at once, 2000 a second for the 5 seconds that one is remembered behind its end, and what the kernel has not yet
# got round to forgetting.  An entry has 256 bytes and more.
bounded() { [ "$most" -gt 0 ] && [ "$most" -lt 32768 ]; }
answers() { like "$(fetch neighbour http://good.example/)" '^served' "the neighbour is answered"; }

for how in begin whole; do
	attack $how 60000 127.0.0.1 53
	bounded
	ok "DNS by TCP: little is remembered" || diag "$most connections"
done
answers
for how in begin whole reset; do
	attack $how 30000 93.184.216.34 0
	bounded
	ok "the internet: little is remembered" || diag "$most connections"
done
answers
attack begin 30000 2606:2800:220:1::34 80
bounded
ok "by IPv6 too" || diag "$most connections"

# what nobody takes in waits half begun
egress=$(pgrep -P "$BOXD_PID" -x box-egress)
kill -STOP "$egress"
attack begin 60000 93.184.216.34 80
kill -CONT "$egress"
bounded
ok "while box-egress takes nothing in: little is remembered" || diag "$most connections"
answers
is "$(on_host cat $count)" 0 "nothing of it was remembered in the host's namespace"
# where the host does remember what leaves it, box-egress knows how much: t/unit/egress-tracked.c
like "$(ls -l "/proc/$egress/fd")" "$count" "box-egress looks at the host's table"
done_testing
