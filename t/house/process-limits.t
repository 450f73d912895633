#!/bin/sh
# A process's own memory limit, how many there may be, and what they keep alive.
. t/lib/sh/boxd.sh
boxd_config 'max_processes = 3' 'idle_ttl_sec = 1'
boxd_start
boxctl create --name s --memory 256 >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
is_in() { [ "$(field "$1" state)" = "\"$2\"" ]; }
eat='import time; x = bytearray(80 << 20); print("fits", flush=True); time.sleep(98765)'

boxctl process start s fits -- python3 -c "$eat" >/dev/null
fits() { [ "$(boxctl process logs s fits)" = fits ]; }
eventually fits
ok "80 MB fit into the session"
boxctl process start s hungry --memory 32 -- python3 -c "$eat" >/dev/null 2>"$D/err"
if grep -q 'no cgroup limits' "$D/err"; then
	skip 3 "no memory cgroup here"
else
	eventually is_in hungry exited
	is "$(field hungry cause)" '"memory"' "with a limit of its own it is killed for its memory"
	is "$(field hungry memory_mb)" 32 "the limit is told"
	is "$(field fits state)" '"running"' "and its neighbour is not touched"
fi

boxctl process start s b -- sleep 98765 >/dev/null
boxctl create --name t --persistent >/dev/null
boxctl process start t c -- sleep 98765 >/dev/null
like "$(boxctl process start t d -- sleep 98765 2>&1)" 'managed process capacity reached \(3\)' "so many of all sessions, and no more"
like "$(boxctl process start s hungry -- sleep 98765 2>&1)" 'capacity reached' "an ended one's name makes no room"
boxctl process start t c -- sh -c 'sleep 98765' >/dev/null
ok "one that is replaced does"
boxctl process stop t c >/dev/null
boxctl process start t d -- sleep 98765 >/dev/null
ok "and so does one that was stopped"

# idle: not while one runs
sleep 1.5 # more than the time to live
is "$(boxctl ps --names | tr '\n' ' ')" "s t " "a session with a process is not idle"
boxctl exec s -t 0.2 --on-timeout drop -- sleep 98765 2>/dev/null
is $? 124 "a command of it times out"
is "$(field b state)" '"running"' "and does not take the session with its processes away"
boxctl process stop s fits >/dev/null
boxctl process stop s b >/dev/null
gone() { ! boxctl ps --names | grep -qx s; }
eventually gone
ok "without them the session goes"
done_testing
