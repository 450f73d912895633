#!/bin/sh
# kill -9 of the gateway: sessions and commands are untouched, clients come back.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
gateway() { pgrep -P "$BOXD_PID" -x box-gateway; }
"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -c 'until [ -e go ]; do sleep 0.02; done; touch mark' 2>"$D/err" & client=$!
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect s -o json | grep -q '\"running\": 1'"
old=$(gateway)
vanish "$old"
wait $client
is $? 125 "a client of the dead gateway is told"
eventually boxctl ping >/dev/null
ok "a new gateway answers on the same socket"
isnt "$(gateway)" "$old" "it is another process"
like "$(boxctl status)" 'gateway restarts: +1' "the restart is counted"
boxctl exec s -- touch go
eventually boxctl exec s -- test -e mark
ok "the command went on and finished"
like "$(boxctl inspect s)" 'worker restarts: +0' "its worker did not notice"
done_testing
