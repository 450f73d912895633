#!/bin/sh
# Where there is no cgroup v2 tree the v1 freezer pauses; and blame, kill and timeouts are as they should be.
. t/lib/sh/boxd.sh
trees=$(awk '$3 == "cgroup2" { print $2 }' /proc/mounts)
grep -Eq '^[^ ]+ [^ ]+ cgroup [^ ]*\bfreezer\b' /proc/mounts || plan skip_all "no v1 freezer is mounted here"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || plan skip_all "this test hides a mount from boxd, which needs root"
unshare -m sh -c 'for m in $2; do umount -l "$m" || exit 1; done
	exec "$1/boxd" -c "$3/boxd.conf" --state-dir "$3/state" --runtime-dir "$3/run"' start "$BUILD" "$trees" "$D" </dev/null >>"$D/log" 2>&1 &
BOXD_PID=$!
eventually _ready_or_dead
grep -aoE -m1 'instance=[0-9a-f]{16}' "$D/log" | head -n 1 | sed 's/.*=/boxd-/' >>"$D/.instances"
like "$(boxctl status)" 'kill: +a UTS namespace per command' "commands are told apart by mark"
like "$(boxctl status)" 'walls: .*cgroup.freeze' "a session can be frozen"
boxctl create --name s --memory 96 --pids 60 >/dev/null
box exec s -c 'i=0; while :; do i=$((i + 1)); echo $i; sleep 0.02; done' >"$D/out" 2>/dev/null &
client=$!
eventually test -s "$D/out"
boxctl pause s >/dev/null
ok "it is paused"
at=$(wc -l <"$D/out")
sleep 0.5
is "$(wc -l <"$D/out")" "$at" "its command stands"
boxctl resume s >/dev/null
more() { [ "$(wc -l <"$D/out")" -gt "$at" ]; }
eventually more
ok "and goes on"

box exec s -t 2 -c 'touch /tmp/up; (setsid sleep 98765 &); sleep 98765' 2>/dev/null &
timed=$!
eventually box exec s -- test -e /tmp/up
boxctl pause s >/dev/null
wait $timed
is $? 124 "a timeout kills in a paused session, though the v1 freezer keeps SIGKILL waiting"
at=$(wc -l <"$D/out")
sleep 0.5
is "$(wc -l <"$D/out")" "$at" "and the others stay where they are"
boxctl resume s >/dev/null
is "$(boxctl exec s -c 'ps -eo args= | grep -c "[s]leep 98765"')" 0 "nothing of it is left"

if boxctl status | grep -q 'memory by cgroup v1'; then
	like "$(box exec s -o json -c 'perl -e "my \$x = q(a) x (200 << 20)"; exit 3')" '"cause": "memory"' "the memory limit is told"
else
	skip 1 "no memory controller here"
fi
box exec s -t 1.5 -- perl -e 'while (1) { fork }' >/dev/null 2>"$D/err"
is $? 124 "a fork bomb: timed out"
is "$(boxctl exec s -c 'ps -eo args= | grep -c "[w]hile (1) { fork }"')" 0 "a fork bomb: nobody is left"
boxctl pause s >/dev/null
boxctl rm s >/dev/null
ok "a paused session is deleted"
wait $client
isnt $? 0 "who waited in it is told"
boxctl create --name s >/dev/null
boxctl exec s -c 'setsid sleep 98765 >/dev/null 2>&1 &'
boxctl pause s >/dev/null
boxd_stop
is "$BOXD_STATUS" 0 "boxd stops with a paused session"
done_testing
