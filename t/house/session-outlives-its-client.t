#!/bin/sh
# A client that vanishes takes nothing with it.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
running() { boxctl inspect s -o json | grep -q '"running": 1'; }

"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -c 'until [ -e go ]; do sleep 0.02; done; seq 1 500000; touch mark' >/dev/null &
client=$!
eventually running
vanish $client
boxctl exec s -- touch go
eventually boxctl exec s -- test -e mark
ok "the command finished after its client left, though nobody read its output"
like "$(boxctl inspect s)" 'state: +ready' "the session is still ready"

# a shell makes its background commands ignore SIGINT; a terminal does not
perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -- sleep 98765 2>/dev/null &
client=$!
eventually running
kill -INT $client
wait $client
is $? 130 "Ctrl-C ends boxctl with 130"
is "$(boxctl exec s -c 'ps -eo args= | grep -c "[s]leep 98765"')" 0 "and the command with it"

"$BUILD/boxctl" --socket "$D/run/boxd.sock" run -- sleep 98765 &
client=$!
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock ps --names | grep -q run-"
kill -TERM $client
wait $client
is $? 143 "SIGTERM ends boxctl run"
is "$(boxctl ps --names)" s "and its throw-away session"
done_testing
