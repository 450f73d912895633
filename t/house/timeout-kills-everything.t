#!/bin/sh
# After its timeout nothing of a command is left, however it hid; the session lives on.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 200 >/dev/null
others() { boxctl exec s -c 'ps -eo args= | grep -c "[s]leep 98765"'; }
timed_out() { # what, command
	boxctl exec s -t 0.7 -c "$2" >/dev/null 2>"$D/err"
	is $? 124 "$1: timed out"
	is "$(others)" 0 "$1: nothing is left"
}

timed_out "plain" 'sleep 98765'
timed_out "ignores TERM" 'trap "" TERM INT HUP; sleep 98765'
timed_out "double fork and setsid" '(setsid sh -c "sleep 98765 & sleep 98765" &) ; sleep 98765'
timed_out "stopped" 'sleep 98765 & kill -STOP $!; sleep 98765'
timed_out "a shell's exit trap" 'trap "sleep 98765" EXIT; sleep 98765'
timed_out "nohup and closed streams" 'nohup sleep 98765 >/dev/null 2>&1 </dev/null & sleep 98765'

boxctl exec s -t 1.5 -- perl -e 'while (1) { fork }' >/dev/null 2>"$D/err"
is $? 124 "a fork bomb: timed out"
like "$(cat "$D/err")" '[0-9]+ processes killed' "the dead are counted"
is "$(boxctl exec s -- ps -eo pid= | wc -l | tr -d ' ')" 2 "only init and the one who counts are left"
init=$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
is "$(_tree "$init")" "" "seen from outside nobody but init is left"
for bomb in 'perl -e "while (1) { fork; fork; exit if rand() < 0.3 }"' 'f() { f | f & }; f' \
	'perl -e "while (1) { if (!fork) { setpgrp; fork; select undef, undef, undef, 0.001 } }"'; do
	boxctl exec s -t 1 -c "($bomb) & exec sleep 98765" >/dev/null 2>&1
	is "$? $(_tree "$init")" "124 " "no survivor of: $bomb"
done

boxctl exec s -c 'setsid sleep 98765 >/dev/null 2>&1 &'
boxctl exec s -t 0.3 -- sleep 98765 2>/dev/null
is "$(others)" 1 "another command's background process is not touched"

is "$(boxctl exec s -- echo alive)" alive "the session lives on"
boxctl exec s -t 0.2 --on-timeout drop -- sleep 98765 2>/dev/null
is $? 124 "on-timeout drop: timed out"
is "$(boxctl ps --names)" "" "and the session is gone"
done_testing
