#!/bin/sh
# cpus = 0.2 is a fifth of one core, however many processes spin: cpu time used by wall time passed.
. t/lib/sh/boxd.sh
boxd_start
boxctl status | grep -q 'cpu by cgroup' || plan skip_all "no cpu controller here"
boxctl create --name s --cpus 0.2 >/dev/null
boxctl create --name free --cpus 2 >/dev/null
# spins for a while in $1 processes; prints the share of a core that they got
spin='use Time::HiRes "time"; my $n = shift; my $t = time; my @p;
for (1 .. $n) { my $p = fork; if (!$p) { 1 while time - $t < 2; exit } push @p, $p }
waitpid $_, 0 for @p; my (undef, undef, $u, $s) = times; printf "%.3f\n", ($u + $s) / (time - $t)'
share() { boxctl exec "$1" -- perl -e "$spin" "$2"; }
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }
throttled() { # session
	_pid=$(boxctl inspect "$1" -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
	_v1=$(sed -n 's/^[0-9]*:\([a-z,]*,\)*cpu\(,[a-z,]*\)*:\(.*\)/\3/p' "/proc/$_pid/cgroup")
	_v2=$(sed -n 's/^0::\(.*\)/\1/p' "/proc/$_pid/cgroup")
	for _f in /sys/fs/cgroup/cpu"$_v1"/cpu.stat /sys/fs/cgroup/cpu,cpuacct"$_v1"/cpu.stat /sys/fs/cgroup"${_v2%/init}"/cpu.stat; do
		[ -n "$_v1$_v2" ] && [ -r "$_f" ] && awk '/^nr_throttled/ { print $2 }' "$_f" && return
	done
}

one=$(share s 1)
note "one process: $one of a core"
ok "one process gets a fifth of a core at most" at_most "$one" 0.3
four=$(share s 4)
note "four processes: $four of a core"
ok "four processes share it" at_most "$four" 0.3
n=$(throttled s)
if [ -n "$n" ]; then
	ok "the kernel held them back" [ "$n" -gt 0 ]
	is "$(throttled free)" 0 "and nobody in a session with enough"
else
	skip 2 "cpu.stat of the session is not seen from here"
fi
done_testing
