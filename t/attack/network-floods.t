#!/bin/sh
# A sandbox that floods its network floods itself: bounded by its limits, and its neighbour is answered all the while.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config 'network.connections = 300' "network.rules = $D/rules"
echo 'deny 151.101.0.223' >"$D/rules"
# as few descriptors as many systems give
prlimit --nofile=4096:4096 true 2>/dev/null && BOXD_WRAP="prlimit --nofile=4096:4096 $BOXD_WRAP"
boxd_start
BOX_SEC=590
session s --pids 256 --memory 512
session t --pids 256 --memory 512
session neighbour
fetch neighbour http://good.example/ >/dev/null
egress=$(pgrep -P "$BOXD_PID" -x box-egress)
descriptors() { ls "/proc/$egress/fd" | wc -l; }
before=$(descriptors)
rss() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$egress/status"; }

# flood SESSION VERB...: in the background; its report is in $D/SESSION.VERB
flood() {
	box exec "$1" -- rm -f /tmp/stop
	box exec "$1" -t 580 -i -- "$PYTHON" - "$2" "$3" "$4" <t/lib/py/flood.py >"$D/$1.$2" 2>&1 &
}
reported() { grep -q '^[a-z]*: open=' "$D/$1"; }
stop() { box exec "$1" -- touch /tmp/stop; }
# neighbour_answers WHEN: names, web and both families, again and again
neighbour_answers() {
	_good=0
	for _i in 1 2 3 4 5 6 7 8; do
		fetch neighbour -4 http://good.example/ | grep -q '^served' && _good=$((_good + 1))
		fetch neighbour -6 https://six.example/ | grep -q '^served' && _good=$((_good + 1))
	done
	is $_good 16 "the neighbour is answered, every time: $1"
}
number() { sed -n "s/.*$2=\([0-9]*\).*/\1/p" "$D/$1"; }
closed() { [ "$(net "$1" open)" = 0 ]; }

# ---- 10 000 at once ----
flood s storm 10000 93.184.216.34/7005
storm=$!
neighbour_answers "while a storm comes"
reported s.storm || eventually reported s.storm || EVENTUALLY_SEC=300 eventually reported s.storm
neighbour_answers "while it is held"
[ "$(number s.storm open)" -le 300 ]
ok "no more than its limit is open" || diag "$(cat "$D/s.storm")"
[ "$(number s.storm open)" -gt 0 ]
ok "and as much as that" || diag "$(cat "$D/s.storm")"
[ "$(net s open)" -le 300 ]
ok "boxctl says so too"
[ "$(net s over_limit)" -gt 1000 ]
ok "the rest is counted as too much" || diag "$(net s over_limit)"
is "$(net neighbour over_limit)" 0 "nothing of it is the neighbour's"
like "$(box exec s -t 60 -- echo alive)" alive "the session itself answers"
stop s
wait $storm
eventually closed s
ok "all of it ends with its processes"
few() { [ "$(descriptors)" -le $((before + 8)) ]; }
eventually few
ok "and box-egress has its descriptors back" || diag "$(descriptors), $before before"
like "$(fetch s http://good.example/)" '^served' "the session can go on"

# ---- two sessions that flood, to where nobody answers ----
flood s storm 2000 93.184.216.99/80
one=$!
flood t storm 2000 93.184.216.99/80
two=$!
waiting() { [ "$(net s open)" -ge 250 ] && [ "$(net t open)" -ge 250 ]; }
eventually waiting
ok "two sessions wait for what does not answer"
neighbour_answers "while they do"
stop s
stop t
box exec s -c 'pkill -9 python3' 2>/dev/null
box exec t -c 'pkill -9 python3' 2>/dev/null
wait $one $two
eventually closed s && eventually closed t
ok "given up with its processes"

# ---- come and gone ----
flood s churn 8000 93.184.216.34/7005
churn=$!
flood t churn 8000 151.101.0.223/80
denied=$!
neighbour_answers "while thousands come and go, and thousands are denied"
wait $churn $denied
ok "both came to their end"
is "$(number t.churn failed)" 0 "no denied connection hung" || diag "$(cat "$D/t.churn")"
is "$(visited 151.101.0.223)" 0 "none came through"
eventually closed s
ok "none is left"

# ---- questions ----
flood s ask 20000 never.example
ask=$!
flood t ask 20000 evil.example
more=$!
neighbour_answers "while thousands of questions are asked"
wait $ask $more
isnt "$(net s over_limit)" 0 "they are too many"

# ---- slow ones ----
flood s drip 300 93.184.216.34/7005
drip=$!
eventually reported s.drip
flood t storm 300 93.184.216.34/7004
unread=$!
eventually reported t.storm
neighbour_answers "beside hundreds that are slow"
stop s
stop t
wait $drip $unread
box rm s t >/dev/null # a server that never reads does not notice that its client has gone
is "$(pgrep -P "$BOXD_PID" -x box-egress)" "$egress" "box-egress is the one of the beginning"
eventually few
ok "with as many descriptors" || diag "$(descriptors), $before before"
[ "$(rss)" -lt 200000 ]
ok "and no heap of memory" || diag "$(rss) KiB"
done_testing
