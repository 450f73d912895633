#!/bin/sh
# An init that hangs cannot make a client wait for ever, with a timeout or without one.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
boxctl create --name t >/dev/null
init() { boxctl inspect "$1" -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p'; }
running() { boxctl inspect "$1" -o json | grep -q '"running": 1'; }
"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -- sleep 98765 2>"$D/err.s" & p=$!
"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec t -t 1 -- sleep 98765 2>"$D/err.t" & q=$!
eventually running s
eventually running t
kill -STOP "$(init s)" "$(init t)"
wait $q
is $? 125 "with a timeout: the client is answered"
like "$(cat "$D/err.t")" 'init did not answer' "with a timeout: and told why"
wait $p
is $? 125 "without a timeout: the client is answered"
like "$(cat "$D/err.s")" 'init did not answer' "without a timeout: and told why"
gone() { [ -z "$(boxctl ps --names)" ]; }
eventually gone
ok "the sandboxes are ended"
is "$(boxctl run -- echo fine)" fine "others are fine"
done_testing
