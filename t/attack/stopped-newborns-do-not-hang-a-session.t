#!/bin/sh
# Init waits for a newborn command until its execve, and whoever stops the newborn there stops init.  Then the worker's
# watchdog ends the sandbox: the client gets an answer, and no other session notices.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 60 --memory 96 --cpus 2 >/dev/null
boxctl create --name b --pids 60 --memory 96 >/dev/null

# Process ids come in turn, so the next ones are known.
box exec s -t 25 -- perl -e '$| = 1; print "ready\n"; my $end = time + 20; my $next = $$ + 1;
	while (time < $end) {
		for (1 .. 2000) { kill "STOP", $next, $next + 1, $next + 2 }
		$next++ while -e "/proc/$next";
	}' >"$D/attack" 2>&1 &
attack=$!
eventually grep -q ready "$D/attack"

started=$(date +%s) codes= code=0
for i in 1 2 3 4 5 6; do
	box exec s -t 1 -- true >/dev/null 2>"$D/err"
	code=$?
	codes="$codes $code"
	[ $code -eq 0 ] || [ $code -eq 124 ] || break
	is "$(box exec b -t 5 -- echo alive)" alive "the neighbour answers, $i"
done
took=$(($(date +%s) - started))
note "exit codes:$codes; in $took s; $(tail -n 1 "$D/err")"
like "$codes" '^( (0|124|125))*$' "each exec ended: by itself, by its timeout, or with its sandbox"
ok "and none of them hung" [ $took -lt $BOX_SEC ]
note "the attack did hit: $(case $codes in *12[45]*) echo yes ;; *) echo no ;; esac)"
if [ $code -eq 125 ]; then
	like "$(cat "$D/err")" 'init|sandbox' "the sandbox's end is told with a reason"
else
	like "$(box exec s -t 1 -- true 2>&1; echo $?)" '(^|[^0-9])(0|124|125)$' "the session still gives answers"
fi
is "$(box exec b -t 5 -- echo alive)" alive "the neighbour lives on"
box rm s >/dev/null 2>&1
unlike "$(boxctl ps --names)" '^s$' "the session can be deleted, or is gone"
wait $attack
boxctl create --name s >/dev/null
is "$(box exec s -t 5 -- echo alive)" alive "and its name be used again"
done_testing
