#!/bin/sh
# kill -9 of a sandbox's init: its session ends with a reason, nobody else notices.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
boxctl create --name other >/dev/null
init=$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
boxctl exec s -- sleep 98765 2>"$D/err" & client=$!
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect s -o json | grep -q '\"running\": 1'"
vanish "$init"
wait $client
is $? 125 "the command's client gets an answer"
like "$(cat "$D/err")" 'init died' "that says why"
gone() { ! boxctl ps --names | grep -qx s; }
eventually gone
ok "the session is gone"
is "$(boxctl exec other -- echo fine)" fine "the other is fine"
boxctl create --name s >/dev/null
is "$(boxctl exec s -- echo new)" new "and a new one of that name can be made"
done_testing
