#!/bin/sh
# A paused session stays paused when its worker dies, and when boxd does.
. t/lib/sh/boxd.sh
boxd_start
boxctl status | grep -Eq 'walls:.*cgroup\.freeze' || plan skip_all "nothing freezes here"
number() { boxctl inspect "$1" -o json | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p"; }
boxctl create --name s >/dev/null
boxctl create --name running >/dev/null
counter='i=0; while :; do i=$((i + 1)); echo $i >/tmp/n; sleep 0.02; done'
for s in s running; do
	boxctl exec $s -c "setsid sh -c '$counter' >/dev/null 2>&1 &"
done
file() { echo "/proc/$(number "$1" init_pid)/root/tmp/n"; }
is_ready() { boxctl inspect "$1" 2>/dev/null | grep -Eq 'state: +ready'; }
stands() { _a=$(cat "$(file "$1")"); sleep 0.5; [ "$_a" = "$(cat "$(file "$1")")" ]; }
[ -r "$(file s)" ] || plan skip_all "the sandbox's files are not seen from here"
still_paused() { # what
	like "$(boxctl inspect s)" 'paused: +yes' "$1: it is paused"
	ok "$1: its process stands" stands s
	boxctl exec s -- true 2>"$D/e"
	like "$(cat "$D/e")" 'is paused; boxctl resume s' "$1: a command is refused"
	like "$(boxctl inspect running)" 'paused: +no' "$1: the other is not"
	! stands running
	ok "$1: and runs"
}
boxctl pause s >/dev/null
still_paused "at first"
vanish "$(number s worker_pid)"
eventually is_ready s
still_paused "worker killed"
vanish "$BOXD_PID"
boxd_start
eventually is_ready s
eventually is_ready running
still_paused "boxd killed"
boxctl resume s >/dev/null
ok "it is resumed"
! stands s
ok "and runs"
is "$(boxctl exec s -- echo alive)" alive "and takes commands"
vanish "$(number s worker_pid)"
eventually is_ready s
! stands s
ok "a session that is not paused is not after a crash either"

# who died in the middle of it: what is wanted stands in the state file
boxctl pause s >/dev/null
tree=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
slots=$(find "$tree" -type d -path "*/s$(number s id)/x*" 2>/dev/null)
if [ -n "$slots" ]; then
	for d in $slots; do echo 0 >"$d/cgroup.freeze"; done
	vanish "$(number s worker_pid)"
	eventually is_ready s
	ok "a pause that was not finished is finished by the next worker" stands s
else
	skip 1 "its cgroups are not on a v2 tree"
fi
boxctl pause running >/dev/null
vanish "$(number s worker_pid)"
boxctl rm s running >/dev/null
ok "paused sessions are deleted, with a worker or without"
done_testing
