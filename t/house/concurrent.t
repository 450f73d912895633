#!/bin/sh
# Commands run at the same time, in one session and in several.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name a >/dev/null
boxctl create --name b >/dev/null

# each waits for a file only the other makes: one after the other they would wait for ever
boxctl exec a -t 60 -c 'touch one; until [ -e two ]; do sleep 0.02; done' & p1=$!
boxctl exec a -t 60 -c 'until [ -e one ]; do sleep 0.02; done; touch two' & p2=$!
wait $p1; ok "first of two in one session"
wait $p2; ok "second of two in one session"

boxctl exec a -c 'until [ -e release ]; do sleep 0.02; done' & slow=$!
is "$(boxctl exec b -- echo free)" free "a busy session does not hold up another"
is "$(boxctl exec a -- echo free)" free "nor itself"
boxctl exec a -- touch release
wait $slow
ok "the slow one ends"

boxctl exec a -c 'echo secret >mine; echo secret >/tmp/mine; sleep 1000 >/dev/null 2>&1 &'
is "$(boxctl exec b -c 'cat mine /tmp/mine 2>/dev/null; ps -eo args= | grep -c "[s]leep 1000"')" 0 "sessions do not see each other"

for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	boxctl exec a -c "sleep 0.0$i; echo $i; exit $i" >"$D/o$i" & eval "pid$i=$!"
done
good=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	eval "wait \$pid$i"; [ $? = $i ] && [ "$(cat "$D/o$i")" = $i ] && good=$((good + 1))
done
is $good 12 "twelve at once each get their own output and code"
done_testing
