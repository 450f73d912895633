#!/bin/sh
# An ordinary user runs boxd too: one uid, a tier that is told, the same promises.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
chown -R 65534:65534 "$D"
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
# not by the function: $! must be boxd itself
setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxd" -c "$D/boxd.conf" --state-dir "$D/state" --runtime-dir "$D/run" \
	</dev/null >"$D/log" 2>&1 &
BOXD_PID=$!
ctl() { as_user "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
eventually ctl ping >/dev/null 2>&1
ok "boxd starts"
if ! ctl run -- true 2>"$D/err"; then
	like "$(cat "$D/err")" 'namespace' "no sandbox for users here, and the barrier is named"
	skip 16 "user namespaces are closed to ordinary users here"
	skip 9 "user namespaces are closed to ordinary users here"
	done_testing
fi
like "$(ctl status)" 'tier: +reduced' "the tier is told"
like "$(ctl status)" 'uids: +single' "one uid is mapped"
like "$(ctl status)" 'missing:.*' "what is missing is listed"
is "$(ctl run -c 'id -u; cat /proc/self/uid_map | tr -s " "' | tr '\n' ' ')" "0  0 65534 1 " "root inside is that user outside"
is "$(ctl run -c 'grep -h "^Cap" /proc/self/status | grep -vc 0000000000000000')" 0 "no capabilities"
like "$(ctl run -c 'touch /usr/x' 2>&1)" 'Read-only' "the host is read-only"
ctl create --name s >/dev/null
ctl exec s -t 0.7 -c '(setsid sh -c "trap \"\" TERM; sleep 98765" &); sleep 98765' 2>"$D/err"
is $? 124 "a timeout"
is "$(ctl exec s -c 'ps -eo args= | grep -c "[s]leep 98765"')" 0 "kills everything"
ctl exec s -c 'setsid sleep 98765 >/dev/null 2>&1 &'
ctl exec s -t 0.3 -- sleep 91 2>/dev/null
is "$(ctl exec s -c 'ps -eo args= | grep -c "[s]leep 98765"')" 1 "but no other command's process"
is "$(ctl exec s -c '(echo 900 >/proc/1/oom_score_adj) 2>/dev/null && echo written')" "" "init's files in /proc cannot be written"
is "$(ctl exec s -c '(echo 0 >/proc/self/oom_score_adj) 2>/dev/null; cat /proc/self/oom_score_adj')" 500 "nor can a command's own"
# the kill by mark: nobody of a bomb is left, inside or outside
init=$(ctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
ctl exec s -c 'pkill sleep'
ctl exec s -t 1.5 -- perl -e 'while (1) { fork }' >/dev/null 2>&1
is $? 124 "a fork bomb: timed out"
is "$(_tree "$init")" "" "a fork bomb: not one survivor"
ctl create --require userns,netns,seccomp --name w >/dev/null
ok "walls that a user has can be required"
unlike "$(ctl inspect w | grep ' walls:')" 'uids|cgroup.memory' "and those he has not are not told"
for wall in uids cgroup.memory cgroup.kill; do
	like "$(ctl create --require $wall 2>&1)" "does not give the required wall $wall: .*root" "required and refused: $wall"
done
printf hello | ctl cp - s:f && ctl exec s -c 'cat f f >g'
is "$(ctl cp s:g -)" hellohello "files go in and out"
"$D/bin/boxctl" --socket "$D/run/boxd.sock" ping >/dev/null
ok "root may use it as well"
setpriv --reuid 65533 --regid 65534 --clear-groups "$D/bin/boxctl" --socket "$D/run/boxd.sock" ping 2>"$D/err"
is $? 125 "another user may not"
printf 'require = full\n' >"$D/full.conf"
as_user "$D/bin/boxd" -c "$D/full.conf" --state-dir "$D/state2" --runtime-dir "$D/run2" 2>"$D/err"
is $? 1 "require = full refuses to start"
like "$(cat "$D/err")" 'require = full, and this machine lacks: .' "and says what is missing"
done_testing
