#!/bin/sh
# Every field of every request, at its edges, of both kinds of clients: each is served, answered once, and nobody else notices.
# The requests are made from the tables and from what LangBot's actions read (t/lib/c/edges.h).
. t/lib/sh/hostile.sh
[ -x "$BUILD/t/edges" ] || plan skip_all "$BUILD/t/edges is not built: make tests"
http_start
supervisor=$BOXD_PID
timeout -k 5 600 "$BUILD/t/edges" "$D/run/boxd.sock" "$AT" "$TOKEN" >"$D/edges" 2>&1
is "$(tail -n 1 "$D/edges")" "many requests, 0 failed" "every request is answered once, and both bystanders answer after each field"
grep '^#' "$D/edges"
same_gateway
kill -0 "$supervisor"
ok "nor has boxd"
is "$(grep -c 'gateway=.* gone' "$D/log")" 0 "no gateway was ended"
is "$(box status -o json | field gateway_restarts)" 0 "or restarted"
done_testing
