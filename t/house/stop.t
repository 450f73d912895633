#!/bin/sh
# SIGTERM and SIGINT: every sandbox is gone, exit 0; systemd is told.
. t/lib/sh/boxd.sh
export NOTIFY_SOCKET="$D/notify" WATCHDOG_USEC=200000
perl -MSocket -e 'socket(S, PF_UNIX, SOCK_DGRAM, 0); bind(S, sockaddr_un($ARGV[0])); $| = 1; while (defined recv(S, $_, 4096, 0)) { print "$_\n" }' "$NOTIFY_SOCKET" >"$D/told" 2>/dev/null &
listener=$!
eventually test -S "$NOTIFY_SOCKET"
boxd_start
eventually grep -q '^READY=1' "$D/told"
ok "READY is told"
eventually grep -q '^WATCHDOG=1' "$D/told"
ok "the watchdog is fed"
boxctl create --name s >/dev/null
boxctl exec s -c 'setsid sleep 98765 >/dev/null 2>&1 &'
eventually grep -q 'STATUS=1 of' "$D/told"
ok "STATUS is told"
init=$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -- sleep 98765 2>"$D/err" & client=$!
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect s -o json | grep -q '\"running\": 1'"
boxd_stop
is "$BOXD_STATUS" 0 "SIGTERM: exit 0"
wait $client
is $? 125 "a client in the middle of a command gets an answer"
like "$(cat "$D/err")" 'stopping|shutting|closed' "that says why"
[ ! -e /proc/$init ]
ok "its sandbox is gone"
eventually grep -q '^STOPPING=1' "$D/told"
ok "STOPPING is told"
kill $listener; wait $listener 2>/dev/null
unset NOTIFY_SOCKET WATCHDOG_USEC

boxd_start
boxctl create --name s >/dev/null
pid=$BOXD_PID
_remember
kill -INT $pid
wait $pid
is $? 0 "SIGINT: exit 0"
BOXD_PID=
done_testing
