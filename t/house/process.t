#!/bin/sh
# A managed process: started, looked at, listed, replaced, stopped, and known for a while after its end.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
ended() { [ "$(field "$1" state)" = '"exited"' ]; }

is "$(boxctl process start s one -e B=2 -e A=1 -w /tmp -- sh -c 'echo "$A$B $PWD"; exec sleep 98761')" one "start tells its name"
is "$(field one state)" '"running"' "it runs"
like "$(boxctl process get s one -o json | tr -d '\n ')" '"argv":\["sh","-c"' "its command line is told"
like "$(boxctl process get s one -o json | tr -d '\n ')" '"env_keys":\["A","B"\]' "and its variables' names, sorted, without values"
out() { [ "$(boxctl process logs s one)" = "12 /tmp" ]; }
eventually out
ok "it has its variables and its directory"
boxctl process start s two -- sleep 98762 >/dev/null
is "$(boxctl process ls s | awk 'NR > 1 { print $1, $2 }' | tr '\n' ' ')" "one running two running " "both are listed, the older first"
is "$(boxctl inspect s -o json | sed -n 's/.*"processes": \([0-9]*\).*/\1/p')" 2 "the session counts them"
is "$(boxctl status -o json | sed -n 's/.*"processes": \([0-9]*\).*/\1/p')" 2 "and so does the daemon"

# replaced: the old one is dead before the new one is born
boxctl process start s one -- sh -c 'pgrep -f "sleep 9876[1]" >seen; exec sleep 98763' >/dev/null
eventually boxctl exec s -- pgrep -f 'sleep 9876[3]' >/dev/null
is "$(boxctl exec s -- cat seen)" "" "one of the same name is stopped first"
is "$(field one stdout_bytes)" 0 "and its output is not the new one's"
is "$(boxctl process ls s | awk 'NR > 1 { print $1 }' | tr '\n' ' ')" "two one " "the list has the new one"

boxctl process stop s one -o json >"$D/stopped"
ok "stop answers"
like "$(cat "$D/stopped")" '"signal": 15' "with how it ended"
boxctl exec s -- pgrep -f 'sleep 9876[3]' >/dev/null
is $? 1 "when it is dead"
like "$(boxctl process get s one 2>&1)" 'session s has no managed process one' "and it is forgotten"
like "$(boxctl process stop s one 2>&1)" 'session s has no managed process one' "so it cannot be stopped twice"

boxctl process start s three -- sh -c 'echo last words >&2; exit 7' >/dev/null
eventually ended three
is "$(field three exit_code)" 7 "an ended one tells its exit status"
like "$(boxctl process logs s three 2>&1 >/dev/null)" 'last words' "and its standard error"
boxctl process start s four -- sh -c 'kill -USR1 $$' >/dev/null
eventually ended four
is "$(field four signal)" 10 "or the signal that ended it"
boxctl process stop s four >/dev/null
ok "an ended one can be stopped: it is forgotten"

boxctl process start s five -- /nowhere/at/all 2>"$D/err"
is $? 1 "a program that is not there"
like "$(cat "$D/err")" 'exec /nowhere/at/all: No such file' "is told at once"
is "$(field five exit_code)" 127 "and remembered as a shell would"
is "$(field five stderr_preview)" '"boxd: /nowhere/at/all: not found\n"' "on its standard error too"

like "$(boxctl process start nobody x -- true 2>&1)" 'session nobody not found' "a session that is not there"
like "$(boxctl process start s x -w rel -- true 2>&1)" 'spec.workdir' "a bad field is named"
like "$(boxctl process start s x --memory 3 -- true 2>&1)" 'spec.memory_mb' "and another"
boxctl rm s >/dev/null
ok "the session goes with those that run"
like "$(boxctl status)" 'processes: +0' "and is not counted any more"
done_testing
