#!/bin/sh
# kill -9 of any part in the middle of a transfer: the client is told, the old file is whole, nothing temporary stays.
. t/lib/sh/boxd.sh
boxd_config 'workspace_backend = tmpfs' # so that files count as memory
boxd_start
boxctl create --name s >/dev/null
boxctl create --name other >/dev/null
cp_() { timeout -k 5 120 "$BUILD/boxctl" --socket "$D/run/boxd.sock" cp "$@"; }
number() { boxctl inspect s -o json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
ready() { boxctl inspect s 2>/dev/null | grep -Eq 'state: +ready'; }
no_helper() { ! boxctl exec s -c 'pgrep box-files' >/dev/null; }
printf 'old content' | cp_ - s:f
head -c 20000000 /dev/urandom >"$D/big"
cp_ "$D/big" s:big

# Half of a file is on its way into the session and its writer waits.
begin() {
	rm -f "$D/slow"
	mkfifo "$D/slow"
	timeout -k 5 120 "$BUILD/boxctl" --socket "$D/run/boxd.sock" cp - s:f <"$D/slow" 2>"$D/err" & put=$!
	exec 9>"$D/slow"
	head -c 3000000 /dev/zero >&9
	eventually boxctl exec s -c '[ "$(df --output=used . | tail -n 1)" -gt 21000 ]'
}
# The writer goes on, and learns of it.
finish() { # name
	head -c 3000000 /dev/zero >&9 2>/dev/null
	exec 9>&-
	wait $put
	_code=$?
	[ $_code -eq 1 ] || [ $_code -eq 125 ]
	ok "$1: the copy fails"
	like "$(cat "$D/err")" "$2" "$1: and says why"
}
intact() { # name
	eventually ready
	is "$(cp_ s:f -)" 'old content' "$1: the old file is whole"
	is "$(boxctl exec s -c 'ls -A' | tr '\n' ' ')" "big f " "$1: and nothing else is there"
}

begin
boxctl exec s -c 'kill -9 $(pgrep box-files)'
finish "box-files killed" 'handle [0-9]+ is not open; the transfer must be started again|died: it was killed by signal 9'
intact "box-files killed"

begin
vanish "$(number worker_pid)"
finish "worker killed" "handle [0-9]+ is not open|worker died under the request"
intact "worker killed"
is "$(boxctl exec s -c 'pgrep -c box-files')" 1 "worker killed: the old box-files is gone"
like "$(boxctl inspect s)" 'running: +0' "worker killed: and nothing counts as running"

begin
vanish "$BOXD_PID"
finish "daemon killed" 'connection to boxd lost'
boxd_start
intact "daemon killed"
is "$(boxctl exec s -c 'pgrep -c box-files')" 1 "daemon killed: the old box-files is gone"
like "$(boxctl inspect s)" 'running: +0' "daemon killed: and nothing counts as running"

begin
vanish "$(pgrep -P "$BOXD_PID" box-gateway)"
finish "gateway killed" 'connection to boxd lost'
intact "gateway killed"

# Out of the session: box-files is stopped, so the file is half here.
stopped_get() {
	cp_ s:f - >/dev/null # one is there
	boxctl exec s -c 'kill -STOP $(pgrep box-files)'
	cp_ s:big "$D/got" 2>"$D/err" & get=$!
	waits() { [ "$(boxctl exec s -c 'echo still here')" = "still here" ] && [ -n "$(ls "/proc/$get" 2>/dev/null)" ]; }
	eventually waits
	ok "$1: commands run while it waits"
}
failed_get() { # name why
	wait $get
	isnt $? 0 "$1: the copy fails"
	like "$(cat "$D/err")" "$2" "$1: and says why"
	is "$(ls -A "$D" | grep -E '^got|boxctl-cp' | tr '\n' ' ')" "" "$1: no half of it is here"
}
stopped_get "out, box-files killed"
is "$(cp_ other: - 2>&1 | grep -c 'is a directory\|workspace itself')" 1 "out: another session's files are served"
boxctl exec s -c 'kill -9 $(pgrep box-files)'
failed_get "out, box-files killed" 'box-files, which does this inside the sandbox, died: it was killed by signal 9'
stopped_get "out, worker killed"
vanish "$(number worker_pid)"
failed_get "out, worker killed" 'worker died under the request|handle'
eventually ready
eventually no_helper
ok "out, worker killed: even a stopped box-files is gone"
stopped_get "out, session deleted"
boxctl rm s >/dev/null
ok "out, session deleted: at once"
failed_get "out, session deleted" 'deleted|closed|not found' # the last when it had not asked yet

# the memory limit ends it, and is named
boxctl create --name small --memory 64 --workspace-size 500 >/dev/null
head -c 100000000 /dev/zero >"$D/big"
cp_ "$D/big" small:x 2>"$D/err"
isnt $? 0 "over the memory limit: the copy fails"
like "$(cat "$D/err")" 'memory limit was reached|transfer must be started again' "over the memory limit: and says why"
printf fine | cp_ - small:y
is "$(cp_ small:y -)" fine "over the memory limit: the next one works"
done_testing
