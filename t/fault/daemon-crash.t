#!/bin/sh
# kill -9 of the supervisor, and its upgrade in place: the next one takes over every sandbox.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --memory 96 >/dev/null
boxctl create --name t --persistent >/dev/null
boxctl exec s -c 'echo kept >file; (until [ -e go ]; do sleep 0.02; done; echo went on >mark) >/dev/null 2>&1 &'
init() { boxctl inspect "$1" -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p'; }
before="$(init s) $(init t)"
boxctl create --name busy --idle 1 >/dev/null
"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec busy -c 'until [ -e /tmp/end ]; do sleep 0.05; done' 2>/dev/null &
client=$!
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect busy -o json | grep -q '\"running\": 1'"
vanish "$BOXD_PID"
wait $client
is $? 125 "a client of the dead daemon is told"
boxd_start
standing() { [ "$(boxctl ps -o json | grep -c '"state": "ready"')" -ge 2 ]; }
eventually standing
ok "both sessions are ready again"
is "$(init s) $(init t)" "$before" "in the same sandboxes"
is "$(boxctl exec s -- cat file)" kept "files are there"
like "$(boxctl inspect s)" 'memory: +96MiB' "the spec is remembered"
like "$(boxctl create --name s --memory 96 -o json)" '"reused": true' "and compared"
like "$(boxctl inspect busy)" 'running: +1' "a command in flight is counted"
sleep 1.5 # more than the idle time of its session
boxctl exec busy -- touch /tmp/end
ok "so its session is not idle"
gone() { ! boxctl ps --names | grep -qx busy; }
eventually gone
ok "until it has ended"
boxctl exec s -- touch go
eventually boxctl exec s -- test -e mark
ok "its background process lived on"

pid=$BOXD_PID
kill -USR2 "$pid"
again() { [ "$(grep -c ' ready pid=' "$D/log")" = 3 ] && standing 2>/dev/null; }
eventually again
ok "SIGUSR2: executed anew, both sessions ready"
is "$(init s) $(init t)" "$before" "SIGUSR2: in the same sandboxes"
kill -0 "$pid"
ok "SIGUSR2: in the same process"
boxctl rm s >/dev/null
ok "an adopted session can be deleted"
boxctl exec t -t 0.3 -- sleep 98765 2>/dev/null
is $? 124 "and a timeout still kills in one"
done_testing
