#!/bin/sh
# Limits that are hit, and said.
. t/lib/sh/boxd.sh
boxd_start
tier=$(boxctl status -o json)
boxctl create --name s --memory 64 --pids 20 --workspace-size 8 >/dev/null

if printf '%s' "$tier" | grep -q 'memory by cgroup'; then
	json=$(boxctl exec s -o json -- perl -e 'my $x = "a" x (200 << 20); print length $x')
	is $? 137 "memory: the command is killed"
	like "$json" '"cause": "memory"' "memory: the cause is told"
	boxctl exec s -- perl -e 'my $x = "a" x (200 << 20)' 2>"$D/err"
	like "$(cat "$D/err")" 'memory limit' "memory: boxctl says so"
	is "$(boxctl exec s -- echo alive)" alive "memory: the session lives on"
else
	skip 4 "no memory controller here"
fi
# swap: the sum of both has the same limit (v1), or swap has the limit 0 (v2)
id=$(boxctl inspect s -o json | sed -n 's/.*"id": \([0-9]*\).*/\1/p')
v1=$(find /sys/fs/cgroup -path "*/s$id/commands/memory.memsw.limit_in_bytes" 2>/dev/null)
v2=$(find /sys/fs/cgroup -path "*/s$id/memory.swap.max" 2>/dev/null)
if [ -n "$v1" ]; then
	is "$(cat "$v1") $(cat "${v1%memsw.*}limit_in_bytes")" "67108864 67108864" "no swap: memory and swap have one limit"
elif [ -n "$v2" ]; then
	is "$(cat "$v2")" 0 "no swap: its limit is 0"
else
	skip 1 "swap is not accounted here"
fi
if printf '%s' "$tier" | grep -q 'pids by cgroup'; then
	json=$(boxctl exec s -o json -c 'i=0; while [ $i -lt 40 ]; do sleep 60 & i=$((i+1)); done; exit 1')
	like "$json" '"cause": "pids"' "pids: the cause is told"
	like "$json" 'fork' "pids: the shell says so too"
else
	like "$(boxctl exec s -o json -c 'i=0; while [ $i -lt 40 ]; do sleep 60 & i=$((i+1)); done; exit 1')" 'fork' \
		"pids: without a controller a resource limit stands in"
	skip 1 "no pids controller here to tell the cause"
fi
boxctl rm s >/dev/null
boxctl create --name s --memory 256 --workspace-size 8 >/dev/null
full() { boxctl exec s -c "$1" 2>&1; }
like "$(full 'head -c 20000000 /dev/zero >/workspace/f; ls -l f')" 'No space left' "bytes in /workspace are bounded"
like "$(full 'head -c 200000000 /dev/zero >/tmp/f')" 'No space left' "bytes in /tmp are bounded"
like "$(full 'rm -f /tmp/f; head -c 200000000 /dev/zero >$HOME/f')" 'No space left' "bytes in home are bounded"
like "$(full 'rm $HOME/f; head -c 200000000 /dev/zero >/dev/shm/f')" 'No space left' "bytes in /dev/shm are bounded"
like "$(full 'rm /dev/shm/f; cd /tmp; for i in $(seq 1 20000); do : >f$i || exit 1; done')" 'No space left' "inodes in /tmp are bounded"
done_testing
