#!/bin/sh
# Limits, kills and clean ends where cgroup v2 has the controllers, as on most machines today.
# Here it runs in a kernel of its own, so that the machine's own cgroups do not matter.
. t/lib/sh/uml.sh
[ "$1" = inside ] || uml_test "$0"

. t/lib/sh/boxd.sh
"$BUILD/boxctl" --help >/dev/null 2>&1 || plan skip_all "these programs do not run in user-mode Linux" # sanitizers
tree=/sys/fs/cgroup
hog='my $x = "a" x (48 << 20); print length $x'
forks='i=0; while [ $i -lt 40 ]; do sleep 60 & i=$((i+1)); done; exit 1'
hidden='(setsid sh -c "sleep 98765 & sleep 98765" &); sleep 98765'
sleepers='ps -eo args= | grep -c "[s]leep 98765"'
of() { boxctl inspect "$1" -o json | sed -n 's/.*"id": \([0-9]*\).*/\1/p'; }
no_forks() { # a newborn is not called sleep yet, but has the words of its parent
	boxctl exec s -- pkill -f 'sleep 60'
	[ "$(boxctl exec s -c 'ps -eo args= | grep -c "[s]leep 60"')" = 0 ]
}
cgroup_of() { find $tree -type d -name "s$(of "$1")"; }

# what is below needs no daemon
"$BUILD/t/part/slots.t" >"$D/slots" 2>&1
ok "a command's own cgroup limits and counts (t/part/slots)" || diag "$(cat "$D/slots")"

boxd_start
status=$(boxctl status)
like "$status" 'tier: +full' "the tier is full"
like "$status" 'limits: +memory by cgroup v2, pids by cgroup v2, cpu by cgroup v2' "limits are by cgroup v2"
like "$status" 'kill: +cgroup v2' "kills are by cgroup v2"

boxctl create --name s --memory 24 --pids 20 --cpus 2 >/dev/null
ok "a session is made"
dir=$(cgroup_of s)
is "$(boxctl exec s -- echo hello)" hello "a command runs"
is "$(cat "$dir/commands/memory.max") $(cat "$dir/memory.max")" "$((24 << 20)) $(((24 + 16) << 20))" "memory.max is set, with a little beside for init"
is "$(cat "$dir/memory.swap.max" 2>/dev/null || echo 0)" 0 "no swap"
is "$(cat "$dir/pids.max")" 21 "pids.max is set, with one for init"
is "$(cat "$dir/cpu.max")" "200000 100000" "cpu.max is set"
is "$(cat "$dir/cgroup.procs")" "" "nobody is in the session's own cgroup"
is "$(cat "$dir/init/cgroup.procs")" "$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')" \
	"only init is in its leaf"
is "$(cat "$dir/commands/x0/memory.oom.group")" 1 "a command that runs out of memory goes as a whole"
unlike "$(boxctl exec s -- cat /proc/self/cgroup)" '\.\.|boxd-' "the session's cgroup is the root of what is seen inside"
boxctl create --name slow --cpus 0.2 >/dev/null
boxctl exec slow -t 0.5 -c 'while :; do :; done' 2>/dev/null
is "$(awk '/nr_throttled/ { print ($2 > 0) }' "$(cgroup_of slow)/cpu.stat")" 1 "a busy command is throttled"
boxctl rm slow >/dev/null

json=$(boxctl exec s -o json -- perl -e "$hog" 2>/dev/null)
is $? 137 "memory: the command is killed"
like "$json" '"cause": "memory"' "memory: the cause is told"
is "$(boxctl exec s -- echo alive)" alive "memory: the session lives on"

json=$(boxctl exec s -o json -c "perl -e '$hog'; exit 3" 2>/dev/null)
like "$json" '"cause": "memory"' "memory: a child's death is told too"
like "$json" '"signal": 9' "memory: the whole command goes"
boxctl exec s -o json -c 'until [ -e /tmp/end ]; do sleep 0.1; done; kill -9 $$' >"$D/innocent" 2>/dev/null &
innocent=$!
boxctl exec s -o json -- perl -e "$hog" >"$D/guilty" 2>/dev/null
boxctl exec s -o json -c "$forks" >"$D/forks" 2>/dev/null
eventually no_forks
boxctl exec s -- touch /tmp/end
wait $innocent
like "$(cat "$D/guilty")" '"cause": "memory"' "blame: who breaks the memory limit"
like "$(cat "$D/forks")" '"cause": "pids"' "blame: who breaks the pids limit"
like "$(cat "$D/innocent")" '"cause": "signal"' "blame: and not who runs beside them"

boxctl exec s -t 0.7 -c "$hidden" 2>/dev/null
is $? 124 "timeout: the command is killed"
is "$(boxctl exec s -c "$sleepers")" 0 "timeout: with all that hid"
boxctl exec s -c 'setsid sleep 98765 >/dev/null 2>&1 &'
boxctl exec s -t 0.3 -- sleep 91 2>/dev/null
is "$(boxctl exec s -c "$sleepers")" 1 "timeout: no other command's process"

boxctl exec s -t 2 -- perl -e 'while (1) { fork }' >/dev/null 2>&1
is $? 124 "a fork bomb: timed out"
is "$(cat "$dir"/commands/x*/cgroup.procs | wc -l)" 1 "a fork bomb: nobody is left but the process of before"

boxctl exec s -c 'while :; do echo x >>/tmp/n; sleep 0.02; done' >/dev/null 2>&1 &
counter=$!
eventually boxctl exec s -- test -s /tmp/n
boxctl pause s >/dev/null
ok "pause: it is paused"
is "$(cat "$dir"/x*/cgroup.events | grep -c 'frozen 0')" 0 "pause: all its commands are frozen"
is "$(cat "$dir/init/cgroup.freeze")" 0 "pause: init is not"
like "$(boxctl exec s -- true 2>&1)" 'is paused' "pause: a command is refused"
boxctl resume s >/dev/null
is "$(cat "$dir"/x*/cgroup.events | grep -c 'frozen 1')" 0 "pause: and goes on"

like "$(boxctl exec s -o json -c "$forks" 2>/dev/null)" '"cause": "pids"' "pids: the cause is told"
boxctl pause s >/dev/null
boxctl rm s >/dev/null
ok "the full and paused session is deleted"
wait $counter
[ -n "$dir" ] && [ ! -e "$dir" ]
ok "its cgroup is gone"

boxctl create --name s >/dev/null
boxctl exec s -c 'setsid sleep 98765 >/dev/null 2>&1 &'
isnt "$(find $tree -mindepth 1 -type d)" "" "SIGTERM: there are cgroups before"
boxd_stop
is "$BOXD_STATUS" 0 "SIGTERM: exit 0"
is "$(find $tree -mindepth 1 -type d)" "" "SIGTERM: none after"

# ---- not every controller ----
echo '-cpu +memory +pids' >$tree/cgroup.subtree_control
mkdir $tree/slice
boxd_config "cgroup_dir = $tree/slice" "spare_sandboxes = 0"
boxd_start
like "$(boxctl status)" 'limits: +memory by cgroup v2, pids by cgroup v2$' "without the cpu controller: told"
like "$(boxctl status)" 'cgroup.cpu: ' "without the cpu controller: said to be missing"
like "$(boxctl create --require cgroup.memory,cgroup.cpu 2>&1)" 'does not give the required wall cgroup.cpu: ' \
	"without the cpu controller: refused to who requires it"
is "$(boxctl run -- echo hello)" hello "without the cpu controller: a command runs"
json=$(boxctl run --memory 24 -o json -- perl -e "$hog" 2>/dev/null)
like "$json" '"cause": "memory"' "without the cpu controller: the other limits hold"
boxd_stop
rmdir $tree/slice
ok "nothing is left below cgroup_dir"

# ---- an ordinary user, to whom a cgroup was delegated ----
echo '+cpu' >$tree/cgroup.subtree_control
mkdir $tree/user
chown -R 65534 "$D" $tree/user/cgroup.procs $tree/user/cgroup.subtree_control $tree/user
mkdir -m 755 "$D/bin" && cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
rm -rf "$D/state" "$D/run"
echo 'listen = none' >"$D/user.conf"
sh -c 'echo 0 >"$1/cgroup.procs" && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$2/bin/boxd" \
	-c "$2/user.conf" --state-dir "$2/state" --runtime-dir "$2/run"' start $tree/user "$D" </dev/null >>"$D/log" 2>&1 &
BOXD_PID=$!
eventually _ready_or_dead
like "$(boxctl status)" 'limits: +memory by cgroup v2, pids by cgroup v2, cpu by cgroup v2' "a user's boxd: limits are by cgroup v2"
boxctl create --name s --memory 24 --require cgroup.memory,cgroup.kill >/dev/null
like "$(boxctl create --require uids 2>&1)" 'wall uids: .*run it as root' "a user's boxd: what it cannot give is refused"
like "$(boxctl exec s -o json -- perl -e "$hog" 2>/dev/null)" '"cause": "memory"' "a user's boxd: and hold"
boxctl exec s -t 0.7 -c "$hidden" 2>/dev/null
is "$? $(boxctl exec s -c "$sleepers")" "124 0" "a user's boxd: a timeout kills all"
kill -USR2 "$BOXD_PID"
anew() { [ "$(grep -c "ready pid=$BOXD_PID " "$D/log")" = 2 ] && boxctl inspect s 2>/dev/null | grep -Eq 'state: +ready'; }
eventually anew
is "$(boxctl exec s -- echo alive)" alive "a user's boxd: executed anew, it finds the session's cgroup"
boxd_stop
rmdir $tree/user 2>/dev/null
ok "a user's boxd: nothing is left in its cgroup" || diag "$(find $tree/user -type d)"
done_testing
