#!/bin/sh
# Memory that the kernel keeps for a command, in sockets, locks and the like, is bounded as its own is.
. t/lib/sh/boxd.sh
. t/lib/sh/hoards.sh
boxd_start
has_memory_limit() { boxctl status | grep -q 'memory by cgroup'; }
has_memory_limit || plan skip_all "nothing limits memory here"
like "$(boxctl status | grep walls:)" 'cgroup.sockets, cgroup.kernel' "the walls are there"
hoard_all 64

# ---- who is ended, and what he is told
hoard_run hoards.tcp-backlog 64
is "$HOARD_CAUSE" memory "connections that nobody accepts: the cause"
like "$HOARD_ERROR" '^[0-9]+ sockets of the session hold [0-9]+ MiB, and may hold 32: all commands were ended$' \
	"connections that nobody accepts: the reason"
hoard_run hoards.locks 64
like "$HOARD_CAUSE $HOARD_ERROR" '^memory the session holds more than 16384 locks on files' "locks: the cause and the reason"
hoard_end

# ---- what is left in the background is found as well
boxctl create --name s --memory 64 >/dev/null
box cp "$BUILD/box-attack" s:/workspace/a >/dev/null
hoarder='echo $$ >/tmp/pid; /workspace/a --inside --only hoards.udp-parts memory=100000; echo >/tmp/by-itself'
in_box -c "chmod 755 /workspace/a; setsid sh -c '$hoarder' >/dev/null 2>&1 &" >/dev/null
gone() { in_box -c '[ -s /tmp/pid ] && [ ! -e /proc/$(cat /tmp/pid) ]'; }
eventually gone
ok "a hoard in the background ends" in_box -- test ! -e /tmp/by-itself

# ---- programs live with it
is "$(in_box -- perl -MSocket -e 'socket(my $s, AF_INET, SOCK_STREAM, 0); setsockopt($s, SOL_SOCKET, SO_RCVBUF, 1 << 22) or die $!; print unpack("i", getsockopt($s, SOL_SOCKET, SO_RCVBUF)) < 1 << 22 ? "small" : "large"')" \
	small "a larger receive buffer is asked for in vain, without an error"
is "$(in_box -- perl -e 'my $n = 0; for (1 .. 200) { socket(my $s, 16, 3, 0) or die $!; $n++ } print $n')" 200 "netlink: one after the other there is no limit"
like "$(in_box -- perl -e 'my @s; for (1 .. 200) { socket(my $s, 16, 3, 0) or last; push @s, $s } print scalar(@s), " $!"')" \
	'^64 No buffer space' "netlink: at one time there is"
is "$(in_box -- perl -e 'my @s; for (1 .. 50) { socket(my $s, 16, 3, 0) or last; push @s, $s } @s = (); socket(my $s, 16, 3, 0) or die; print "again"')" again "netlink: closed ones do not count"
is "$(in_box -- getent ahosts localhost | head -n 1 | awk '{ print $1 != "" }')" 1 "names are looked up"
if command -v python3 >/dev/null; then
	like "$(in_box -- python3 -c 'import socket; print(socket.if_nameindex())')" "'lo'" "interfaces are listed"
else
	skip 1 "no python3 here"
fi

# ---- a command that waits for init's answer can be killed, and stopped
cat >"$D/storm.pl" <<'EOP'
for (1 .. 8) { fork or last }
while (1) { socket(my $s, 16, 3, 0) }
EOP
box exec s -t 1 -- perl -e "$(cat "$D/storm.pl")" >/dev/null 2>&1
is $? 124 "who asks all the time is ended by his timeout"
is "$(in_box -c 'ps -e -o comm= | grep -cx perl')" 0 "with all his processes"
box exec s -t 60 -- perl -e "$(cat "$D/storm.pl")" >/dev/null 2>&1 &
storm=$!
busy() { boxctl inspect s -o json | grep -q '"running": 1'; }
eventually busy
boxctl pause s >/dev/null
ok "a session is paused meanwhile" || diag "$(tail -n 3 "$D/log")"
boxctl resume s >/dev/null
is "$(in_box -- echo alive)" alive "and goes on"
boxctl rm s >/dev/null
wait $storm
boxctl ping >/dev/null
ok "boxd answers"
done_testing
