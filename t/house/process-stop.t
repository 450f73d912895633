#!/bin/sh
# Stop: input closed, SIGTERM to the group, five seconds, then the whole tree; nothing of a process outlives it.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 200 >/dev/null
left() { boxctl exec s -c 'ps -eo args= | grep -c "[s]leep 9876[5]"'; }
stop() { boxctl process stop s p -o json | sed -n "s/^ *\"$1\": \(.*[^,]\),*\$/\1/p"; }
ready() { boxctl process logs s p | grep -q ready; }
start() { boxctl process start s p -- "$@" >/dev/null && eventually ready; }

start sh -c 'trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.05; done'
is "$(stop exit_code)" 3 "one that handles SIGTERM ends as it likes"
start sh -c 'trap "" TERM; echo ready; cat >/dev/null; exit 4'
is "$(stop exit_code)" 4 "its standard input is closed"
start sh -c '(trap "sleep 0.3; echo yes >mark; exit" TERM; echo ready; while :; do sleep 0.05; done) & wait'
is "$(stop signal)" 15 "a child in its group has the signal too"
is "$(boxctl exec s -- cat mark)" yes "and the time, though its parent is gone before it"
start sh -c '(trap "" TERM; echo ready; sleep 98765) & wait'
like "$(stop killed)" "^[12]\$" "but no more than that"
is "$(left)" 0 "and is gone"
start sh -c 'trap "exit 6" TERM; (echo ready; kill -STOP $$) & while :; do sleep 0.05; done'
is "$(stop exit_code)" 6 "a stopped one hears it"

# all that ignores it is killed: forked, in sessions of its own, stopped
start sh -c 'trap "" TERM HUP INT; (setsid sh -c "sleep 98765 & sleep 98765" &); sleep 98765 & kill -STOP $!; nohup sleep 98765 >/dev/null 2>&1 & echo ready; while :; do sleep 98765; done'
boxctl process stop s p -o json >"$D/stop"
like "$(cat "$D/stop")" '"signal": 9' "one that ignores SIGTERM is killed"
like "$(cat "$D/stop")" '"cause": "cancelled"' "and that is told"
is "$(left)" 0 "with its whole tree"
like "$(boxctl process get s p 2>&1)" 'has no managed process' "and then forgotten"

# ended by itself: what it left behind goes too
boxctl process start s p -- sh -c '(setsid sleep 98765 &); sleep 98765 & exit 5' >/dev/null
ended() { boxctl process get s p -o json | grep -q '"state": "exited"'; }
eventually ended
is "$(left)" 0 "children of one that exited are gone with it"
is "$(stop killed)" 2 "and counted"

# several ask at once
start sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
for i in 1 2 3; do boxctl process stop s p >"$D/stop$i" 2>&1 & eval "p$i=$!"; done
wait $p1 && wait $p2 && wait $p3
ok "everybody who asked is answered"
is "$(cat "$D/stop1" "$D/stop2" "$D/stop3" | grep -c 'signal: *9')" 3 "with its end"

# replaced while it is being stopped, and stopped while it is being replaced
start sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done'
boxctl process start s p -- sleep 98765 >"$D/one" 2>&1 & one=$!
stopping() { boxctl process get s p -o json | grep -q '"state": "stopping"'; }
eventually stopping
boxctl process stop s p >/dev/null
ok "a stop in the middle of a replacement is answered"
wait $one
is $? 1 "the replacement is not started"
like "$(cat "$D/one")" 'process p was stopped before it could start' "and told why"
is "$(left)" 0 "nothing runs"
done_testing
