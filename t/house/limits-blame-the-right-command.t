#!/bin/sh
# Two commands at once, one breaks a limit: only that one is told so.
. t/lib/sh/boxd.sh
boxd_start
limits=$(boxctl status -o json)
has() { printf '%s' "$limits" | grep -q "$1 by cgroup"; }
cause() { sed -n 's/.*"cause": "\([a-z]*\)".*/\1/p' "$1"; }
boxctl create --name s --memory 96 --pids 40 >/dev/null
hog='my $x = "a" x (200 << 20); print length $x'

# beside COMMAND: runs in s while another command, that ends badly by itself, is there from before to after
beside() {
	box exec s -- rm -f /tmp/up /tmp/end
	box exec s -o json -c 'touch /tmp/up; until [ -e /tmp/end ]; do sleep 0.05; done; kill -9 $$' >"$D/innocent" &
	_other=$!
	eventually box exec s -- test -e /tmp/up
	box exec s -o json -c "$1" >"$D/guilty" 2>/dev/null
	box exec s -- touch /tmp/end
	wait $_other
}

if has memory; then
	beside "exec perl -e '$hog'"
	is "$(cause "$D/guilty")" memory "memory: the guilty one is told"
	is "$(cause "$D/innocent")" signal "memory: who was killed by another hand is not"
	beside "perl -e '$hog'; exit 3"
	is "$(cause "$D/guilty")" memory "memory: also when only a child was killed and the command failed"
	beside "perl -e '$hog'; exit 0"
	like "$(cause "$D/guilty")" 'exit|memory' "memory: a command that ends well all the same has not failed by it" # v2 ends it whole
	is "$(cause "$D/innocent")" signal "memory: and never its neighbour"
	box exec s -o json -c 'exit 3' >"$D/next"
	is "$(cause "$D/next")" exit "memory: nor the next one in the same place"
else
	skip 6 "no memory controller here"
fi
if has pids; then
	beside 'i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i + 1)); done; exit 1'
	is "$(cause "$D/guilty")" pids "pids: the guilty one is told"
	if boxctl status | grep -q 'pids by cgroup v2' && [ -e "$(find /sys/fs/cgroup -name pids.events.local | head -n 1)" ]; then
		skip 1 "this kernel counts refused forks for the session alone"
	else
		is "$(cause "$D/innocent")" signal "pids: its neighbour is not"
	fi
else
	skip 2 "no pids controller here"
fi

# a worker that crashed is no excuse
if has memory; then
	boxctl rm s >/dev/null
	boxctl create --name s --memory 96 >/dev/null
	box exec s -o json -c "until [ -e /tmp/go ]; do sleep 0.05; done; exec perl -e '$hog'" >"$D/guilty" &
	one=$!
	box exec s -o json -c 'touch /tmp/up; until [ -e /tmp/end ]; do sleep 0.05; done; kill -9 $$' >"$D/innocent" &
	two=$!
	eventually box exec s -- test -e /tmp/up
	vanish "$(boxctl inspect s -o json | sed -n 's/.*"worker_pid": \([0-9]*\).*/\1/p')"
	box exec s -- touch /tmp/go
	wait $one
	box exec s -- touch /tmp/end
	wait $two
	is "$(cause "$D/guilty") $(cause "$D/innocent")" "memory signal" "a new worker knows too who is guilty"
else
	skip 1 "no memory controller here"
fi
done_testing
