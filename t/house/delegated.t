#!/bin/sh
# An ordinary user with a cgroup of its own (as systemd's Delegate=yes gives): commands are
# killed by cgroup, and boxd finds its way back after it executed itself anew.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "this test makes a cgroup and changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
tree=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
own=$tree/boxd-t-own.$$
[ -n "$tree" ] && mkdir "$own" 2>/dev/null || plan skip_all "no writable cgroup v2 tree here"
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
chown -R 65534:65534 "$D" "$own"
sh -c 'echo 0 >"$1/cgroup.procs" && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$2/bin/boxd" \
	-c "$2/boxd.conf" --state-dir "$2/state" --runtime-dir "$2/run"' start "$own" "$D" </dev/null >"$D/log" 2>&1 &
BOXD_PID=$!
ctl() { setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
eventually ctl ping >/dev/null 2>&1
ok "boxd starts"
if ! ctl run -- true 2>"$D/err"; then
	skip 1 "user namespaces are closed to ordinary users here: $(cat "$D/err")"
else
	like "$(ctl status)" 'kill: +cgroup v2' "its own cgroup is used"
	ctl create --name s >/dev/null
	kills() {
		ctl exec s -t 0.5 -c '(setsid sleep 98765 &); sleep 98765' 2>/dev/null
		is $? 124 "$1: a timeout"
		is "$(ctl exec s -c 'ps -eo args= | grep -c "[s]leep 98765"')" 0 "$1: kills everything"
	}
	like "$(ctl inspect s)" 'walls: .*cgroup.kill, cgroup.freeze' "so a kill and a pause are the kernel's"
	ctl create --require cgroup.kill --name w >/dev/null
	ok "which can be required"
	like "$(ctl create --require uids 2>&1)" 'wall uids: ' "and a range of uids cannot"
	ctl pause w >/dev/null && like "$(ctl ps)" '^w +paused' "it pauses"
	ctl rm w >/dev/null
	ok "and deletes what is paused"
	kills "at first"
	kill -USR2 "$BOXD_PID"
	anew() { [ "$(grep -c ' ready pid=' "$D/log")" = 2 ] && ctl inspect s 2>/dev/null | grep -Eq 'state: +ready'; }
	eventually anew
	ok "executed anew, the session is ready"
	kills "afterwards"
	is "$(find "$own" -type d -name supervisor | wc -l)" 1 "it went into its leaf once"
	ctl rm s >/dev/null
fi
boxd_stop
is "$(find "$own" -mindepth 1 -type d)" "" "nothing is left in the cgroup"
rmdir "$own"
done_testing
