#!/bin/sh
# A command names mounts of its own: it sees these and the session's, nobody else sees them, and the session stays as it is.
. t/lib/sh/boxd.sh

mounts_of_commands() { # who
	boxctl create --name s --host-path "$D/w" --mount "$D/base:/base:ro" >/dev/null
	ok "$1: a session"
	inits=$(boxctl inspect s -o json | field init_pid)
	boxctl exec s -c 'echo kept >/tmp/k; sleep 98765 >/dev/null 2>&1 & echo $! >/tmp/pid' >/dev/null
	is "$(boxctl exec s --mount "$D/a:/workspace/m:ro" -c 'cat m/f /base/f')" "A
B" "$1: what it names and what the session has"
	is "$(boxctl exec s -c 'ls m')" "" "$1: the next one does not see it"
	is "$(boxctl exec s --mount "$D/a:/opt/x/y:ro" --mount "$D/file:/srv/deep/file:ro" -c 'cat /opt/x/y/f /srv/deep/file /base/f; ls /usr/bin/env')" "A
file
B
/usr/bin/env" "$1: in places that the read-only root lacks"
	like "$(boxctl exec s --mount "$D/a:/opt/x:ro" -c 'touch /opt/x/n /opt/n /n' 2>&1)" '/opt/x/n.*Read-only.*/opt/n.*Read-only.*/n.*Read-only|Read-only' "$1: nothing can be written there"
	is "$(boxctl exec s --mount "$D/a:/workspace/m" -c 'echo new >m/n; cat m/n'; cat "$D/a/n")" "new
new" "$1: a writable one below the workspace"
	rm -f "$D/a/n"
	like "$(boxctl exec s --mount "$D/a:/data" -- true 2>&1)" 'exec.extra_mounts.0.host_path: nothing can be written at /data.*read-only, or below the workspace' "$1: elsewhere it cannot be writable"
	is "$(boxctl exec s --mount "$D/a:/base:ro" -c 'cat /base/f')" A "$1: in the place of the session's own"
	like "$(boxctl exec s --mount "$D/a:/workspace/m:ro" -c 'grep " /workspace/m " /proc/self/mounts')" 'ro,nosuid,nodev' "$1: nosuid, nodev"
	is "$(boxctl exec s --mount "$D/a:/workspace/m:ro" -c 'sed -n "s/^Cap[^:]*:.//p" /proc/self/status | sort -u')" 0000000000000000 "$1: and no capability"
	is "$(boxctl exec s --mount "$D/a:/work/m:ro" -w /work/m -- cat f)" A "$1: a working directory in it"
	for bad in "nothing:/x does not exist" "a:/proc/x the sandbox.s own" "a:/etc what every command needs" "a:/workspace where the workspace is"; do
		like "$(boxctl exec s --mount "$D/${bad%% *}:ro" -- true 2>&1)" "exec.extra_mounts.0.*${bad#* }" "$1: refused: $bad"
	done
	is "$(boxctl exec s -c 'cat /tmp/k; kill -0 $(cat /tmp/pid) && echo lives') $(boxctl inspect s -o json | field init_pid)" "kept
lives $inits" "$1: it is the same sandbox as ever"

	# what it was mounted from is judged anew each time, though what is kept of the last time may do
	mkdir -p "$D/swap/now"; echo 1 >"$D/swap/now/f"
	for at in /opt/swap /workspace/swap; do
		is "$(boxctl exec s --mount "$D/swap/now:$at:ro" -- cat $at/f)" 1 "$1: a directory on $at"
		echo 2 >"$D/swap/now/f"
		is "$(boxctl exec s --mount "$D/swap/now:$at:ro" -- cat $at/f)" 2 "$1: once more, and changed inside"
		mv "$D/swap/now" "$D/swap/old"; mkdir "$D/swap/now"; echo 3 >"$D/swap/now/f"
		is "$(boxctl exec s --mount "$D/swap/now:$at:ro" -- cat $at/f)" 3 "$1: another in its place"
		rm -r "$D/swap/now"
		like "$(boxctl exec s --mount "$D/swap/now:$at:ro" -- cat $at/f 2>&1)" "exec.extra_mounts.0.*does not exist" "$1: none in its place"
		ln -s "$D/swap/old" "$D/swap/now"
		is "$(boxctl exec s --mount "$D/swap/now:$at:ro" -- cat $at/f)" 2 "$1: a link to the first one"
		rm "$D/swap/now"; mv "$D/swap/old" "$D/swap/now"; echo 1 >"$D/swap/now/f"
	done
	is "$(boxctl exec s --mount "$D/swap/now:/opt/swap:ro" -c 'touch /opt/swap/n || echo cannot' 2>/dev/null)" cannot "$1: and it is as read-only as ever"

	# two at once, each with its own
	boxctl exec s -- mkfifo go
	boxctl exec s --mount "$D/a:/workspace/m:ro" -t 60 -c 'read x <go; cat m/f' >"$D/one" & one=$!
	boxctl exec s --mount "$D/base:/workspace/m:ro" -t 60 -c 'cat m/f; echo >go' >"$D/two"
	wait $one
	is "$(cat "$D/one" "$D/two")" "A
B" "$1: two at the same time"

	# the process that makes them may die at any time
	mounter=$(pgrep -P "$BOXD_PID" box-session | while read -r p; do pgrep -P "$p" box-mounts >/dev/null && echo "$p"; done)
	vanish "$mounter"
	is "$(boxctl exec s --mount "$D/a:/workspace/m:ro" -- cat m/f)" A "$1: a new one makes mounts when it was killed"
	kill -9 "$(boxctl inspect s -o json | field worker_pid)"
	is "$(boxctl exec s --mount "$D/a:/workspace/m:ro" -- cat m/f)" A "$1: also with a new worker"
	boxctl rm s
	rm -rf "$D/w/go"
}

mkdir -p "$D/a" "$D/base" "$D/w"
echo A >"$D/a/f"
echo B >"$D/base/f"
echo file >"$D/file"
boxd_start
mounts_of_commands "boxd"
is "$(grep -c "$D/a" /proc/*/mountinfo 2>/dev/null | grep -vc ':0$')" 0 "no mount is left anywhere"
boxd_stop
if [ "$(id -u)" = 0 ]; then
	. t/lib/sh/not_root.sh
	user_start
	mounts_of_commands "an ordinary user's"
fi
done_testing
