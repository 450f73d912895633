#!/bin/sh
# kill -9 of a session's worker: files, commands in flight and their output survive.
. t/lib/sh/boxd.sh
boxd_config 'worker_restarts = 4'
boxd_start
boxctl create --name s >/dev/null
boxctl create --name other >/dev/null
number() { boxctl inspect "$1" -o json | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p"; }
other=$(number other worker_pid)
boxctl exec s -c 'echo kept >file'

boxctl exec s -c 'seq 1 1000; until [ -e go ]; do sleep 0.02; done; seq 1001 2000; exit 7' >"$D/out" & stream=$!
boxctl exec s -o json -c 'echo before; until [ -e go ]; do sleep 0.02; done; echo after; exit 8' >"$D/json" & kept=$!
eventually sh -c "grep -qx 1000 '$D/out'"
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect s -o json | grep -q '\"running\": 2'"
vanish "$(number s worker_pid)"
ready_again() { boxctl inspect s | grep -Eq 'state: +ready'; }
eventually ready_again
ok "a new worker takes over"
is "$(number s worker_restarts)" 1 "the restart is counted"
is "$(boxctl exec s -- cat file)" kept "files are there"
boxctl exec s -- touch go
wait $stream
is $? 7 "the streamed command ends with its own code"
is "$(sha256sum <"$D/out")" "$(seq 1 2000 | sha256sum)" "all its output arrived, once"
wait $kept
is $? 8 "the other command too"
like "$(cat "$D/json")" '"stdout": "before\\nafter' "with its output"
is "$(number other worker_pid)" "$other" "no other session noticed"

# asked while there is no worker: held, then run
vanish "$(number s worker_pid)"
is "$(boxctl exec s -- echo held)" held "a command that comes in between is held and run"

# too often within the window: the session fails with a reason, the others stay
i=0
while [ $i -lt 6 ] && boxctl ps --names | grep -qx s; do
	eventually sh -c "! $BUILD/boxctl --socket $D/run/boxd.sock inspect s >/dev/null 2>&1 || $BUILD/boxctl --socket $D/run/boxd.sock inspect s | grep -Eq 'state: +ready'"
	pid=$(number s worker_pid)
	[ -n "$pid" ] && [ "$pid" != 0 ] && vanish "$pid"
	i=$((i + 1))
done
gone() { ! boxctl ps --names | grep -qx s; }
eventually gone
ok "a worker that keeps crashing ends its session"
grep -q 'name=s gone.*its worker crashed 4 times' "$D/log"
ok "and the log says why"
is "$(boxctl exec other -- echo fine)" fine "the other session is fine"
done_testing
