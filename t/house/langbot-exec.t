#!/bin/sh
# box_exec: what a command says and how it ended, and that nothing of it outlives who asked.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start

out=$(run ws-1 1 s 'echo hello-box; echo err >&2; exit 3')
is "$(of "$out" stdout)$(of "$out" stderr)$(of "$out" exit_code)" 'hello-box\nerr\n3' "output of both streams, and the code"
is "$(of "$out" timed_out) $(of "$out" session_id) $(of "$out" backend)" "false s native" "completed"
run ws-1 1 s 'echo kept >/tmp/testfile.txt' >/dev/null
is "$(says ws-1 1 s 'cat /tmp/testfile.txt')" 'kept\n' "files are there for the next command"
is "$(says ws-1 1 s 'cat <<E\nhere\nE')" 'here\n' "a command of several lines, with a here document"
is "$(says ws-1 1 s 'echo $A,$B' ', "env": {"A": "1", "B": "two words"}')" '1,two words\n' "variables"
is "$(lb exec ws-1 1 '"spec": {"session_id": "s", "cmd": "pwd", "workdir": "/workspace/new/dir"}' | field stdout)" '/workspace/new/dir\n' "a working directory is made"
is "$(says ws-1 1 s 'cat; echo end')" 'end\n' "standard input is empty"
is "$(run ws-1 1 s 'kill -9 $$' | field exit_code)" 137 "a shell killed by a signal: 128 and its number"
is "$(run ws-1 1 s 'kill -TERM $$' | field exit_code)" 143 "by another signal"
is "$(run ws-1 1 s 'sleep 9 & kill -9 $!; wait $!' | field exit_code)" 137 "as the shell itself reports a killed command"
is "$(lb exec ws-1 1 '"spec": {"session_id": "s", "cmd": "pwd", "workdir": "/proc/nope"}' | field exit_code)" 126 "a directory that cannot be made"
is "$(run ws-1 1 s '')" "boxctl: cmd must not be empty" "no command"
is "$(run ws-1 1 s 'wget -T 2 -q -O - http://192.0.2.1/ || echo offline' | field stdout)" 'offline\n' "there is no network"

out=$(run ws-1 1 n 'wget -T 9 -t 1 -q -O - http://169.254.169.254/latest/ || echo refused' ', "network": "on"')
is "$(of "$out" stdout)" 'refused\n' "a network, and no metadata"
like "$(of "$out" notice)" 'boxd: network: refused by a rule: the connection to 169.254.169.254 port 80: built-in: link-local' "a line tells it"
is "$(of "$(run ws-1 1 n true ', "network": "on"')" notice)" "" "and only with that command"

# causes
out=$(run ws-1 1 m 'head -c 200M /dev/zero | tail -c 190M' ', "memory_mb": 64')
like "$(of "$out" notice)" '64 MiB.*memory_mb' "over its memory: a line tells it"
isnt "$(of "$out" exit_code)" 0 "and it did not end well"
out=$(run ws-1 1 p 'for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; wait' ', "pids_limit": 6')
like "$(of "$out" notice)" 'pids_limit' "too many processes: a line tells it"
out=$(run ws-1 1 s 'yes | head -c 1048580')
is "$(of "$out" stdout_bytes)" 1048580 "all output is counted"
is "$(of "$out" stdout | wc -c)" "$((1048576 / 2 * 3 + 1))" "the first MiB is kept"

# at the same time
run ws-1 1 s 'until [ -e /tmp/go ]; do sleep 0.05; done; echo waited' >"$D/first" &
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect ws-9d14934957e7ea8dcfa33291-g1-s -o json | grep -q '\"running\": 1'"
run ws-1 1 s 'touch /tmp/go' >/dev/null
wait $!
is "$(field stdout <"$D/first")" 'waited\n' "commands of one session run beside each other"

# delete does not wait for it
run ws-1 1 s 'echo begun; exec sleep 98761' >"$D/first" &
first=$!
eventually runs 98761
lb delete ws-1 1 "$(named s)" >/dev/null
wait $first
is "$(cat "$D/first")" "boxctl: session s is being deleted" "delete ends what runs, and tells"
eventually stopped 98761
ok "nothing of it is left"

# who leaves
is "$(says ws-1 1 s 'mkfifo /tmp/go; echo mark >/tmp/mark')" '' "a session"
"$BUILD/boxctl" --socket "$D/run/boxd.sock" call box_exec '{"context": {"instance": "inst-1", "workspace": "ws-1", "generation": 1}, "spec": {"session_id": "s", "cmd": "sleep 98762 & read go </tmp/go; kill $!; echo end >/tmp/end", "workdir": "/tmp"}}' >/dev/null 2>&1 &
client=$!
eventually runs 98762
vanish $client
is "$(says ws-1 1 s 'echo >/tmp/go; while ! [ -e /tmp/end ]; do sleep 0.05; done; cat /tmp/end /tmp/mark')" 'end\nmark\n' "its command runs on when a client leaves"
eventually stopped 98762
"$BUILD/boxctl" --socket "$D/run/boxd.sock" call box_exec '{"context": {"instance": "inst-1", "workspace": "ws-1", "generation": 1}, "spec": {"session_id": "s", "cmd": "exec sleep 98763", "workdir": "/tmp", "timeout_sec": 600}}' >/dev/null 2>&1 &
client=$!
eventually runs 98763
vanish $client
lb list ws-1 2 >/dev/null
eventually stopped 98763
ok "a newer generation still ends it"

# one that has not started: its generation waits until a session of the older one is gone, whose worker stands still
is "$(says ws-3 1 q true)" '' "a session of the first generation"
name=$(box ps --names | grep -- '-g1-q$')
worker=$(box inspect "$name" -o json | sed -n 's/.*"worker_pid": \([0-9]*\).*/\1/p')
kill -STOP "$worker"
"$BUILD/boxctl" --socket "$D/run/boxd.sock" call box_exec '{"context": {"instance": "inst-1", "workspace": "ws-3", "generation": 2}, "spec": {"session_id": "q", "cmd": "exec sleep 98764", "workdir": "/tmp"}}' >/dev/null 2>&1 &
client=$!
closing() { box inspect "$name" -o json | grep -q '"state": "closing"'; }
alone() { [ "$(box status -o json | field connections)" = 1 ]; }
eventually closing
vanish $client
eventually alone
kill -CONT "$worker"
gone() { ! box ps --names | grep -q -- '-g1-q$'; }
eventually gone
is "$(listed ws-3 2)" "" "what waited is dropped with its client: no session was made for it"
stopped 98764
ok "and no command started"
done_testing
