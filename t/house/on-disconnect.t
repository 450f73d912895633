#!/bin/sh
# A native client chooses whether its command outlives its connection.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
beside="$BUILD/boxctl --socket $D/run/boxd.sock" # of its own, so that it can be killed
counts() { is_now "$(boxctl exec s -c "ps -eo args= | grep -c '^sleep $1\$'")" "$2"; }
is_now() { [ "$1" = "$2" ]; }

$beside exec s --on-disconnect cancel -- sleep 98751 &
client=$!
eventually counts 98751 1
ok "command 98751 runs"
vanish $client
eventually counts 98751 0
ok "cancel: the command is killed when its client is gone"
like "$(boxctl inspect s)" 'state: +ready' "the session stays"

$beside exec s --on-disconnect keep -- sleep 98752 &
client=$!
eventually counts 98752 1
ok "command 98752 runs"
$beside exec s --on-disconnect cancel -- sleep 98753 &
other=$!
eventually counts 98753 1
ok "command 98753 runs"
vanish $other
eventually counts 98753 0
vanish $client
counts 98752 1
ok "keep: it runs on, though another client's was killed meanwhile"
boxctl exec s -- pkill -x sleep

# the client leaves while no worker is there to kill its command
$beside exec s --on-disconnect cancel -- sleep 98754 &
client=$!
eventually counts 98754 1
ok "command 98754 runs"
worker=$(boxctl inspect s -o json | sed -n 's/.*"worker_pid": \([0-9]*\).*/\1/p')
kill -STOP "$BOXD_PID"
kill -9 "$worker"
vanish $client
kill -CONT "$BOXD_PID"
eventually counts 98754 0
ok "cancel: also when the session's worker died at that moment"

# a gateway that dies takes all connections with it
$beside exec s --on-disconnect cancel -- sleep 98755 2>/dev/null &
client=$!
eventually counts 98755 1
ok "command 98755 runs"
vanish "$(pgrep -P "$BOXD_PID" -x box-gateway)"
wait $client
eventually counts 98755 0
ok "cancel: a crash of the gateway ends the connection too"
is "$(boxctl exec s --on-disconnect drop -- true 2>&1 | head -1)" "boxctl: exec: --on-disconnect: 'drop' should be 'keep' or 'cancel'" "another word is refused"
done_testing
