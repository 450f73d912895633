#!/bin/sh
# A command can give up what it has, not take more: limits, priority, its place before the OOM killer, others' processes.
. t/lib/sh/boxd.sh
needs_syscall_numbers
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null
boxctl create --name other --pids 60 --memory 96 >/dev/null
init_of() { boxctl inspect "$1" -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p'; }

# every hard limit that is finite: one more is refused, or (the core limit) has no effect
cat >"$D/raise.pl" <<'EOF'
require "sys/syscall.ph";
my $who = 0 + (shift // 0);
my $file = "/proc/" . ($who || "self") . "/limits";
sub limits { open(my $f, "<", $file) or die "$file: $!"; local $/; <$f> }
my $before = limits();
for my $what (0 .. 15) {
	my $now = "\0" x 16;
	syscall(SYS_prlimit64(), 0, $what, 0, $now) == 0 or next;
	my ($soft, $hard) = unpack("QQ", $now);
	next if $hard == ~0;
	my $more = pack("QQ", $soft, $hard + 1);
	my $all = pack("QQ", ~0, ~0);
	for my $try ($more, $all) {
		print "raised $what from $hard\n" if syscall(SYS_prlimit64(), $who, $what, $try, 0) == 0 && limits() ne $before;
	}
	$n++;
}
print "tried ", $n > 3 ? "several" : "few", "\n";
EOF
raise=$(cat "$D/raise.pl")
is "$(in_box -- perl -e "$raise")" "tried several" "no hard limit is raised"
is "$(in_box -- perl -e "$raise" 1)" "tried several" "nor one of init's"
if [ $((0x$(sed -n 's/^CapEff:.*\(........\)$/\1/p' /proc/self/status) >> 24 & 1)) = 1 ]; then # CAP_SYS_RESOURCE
	like "$(perl -e "$raise")" raised "the probe raises them on the host"
else
	skip 1 "not even the test may raise limits here"
fi
like "$(in_box -c 'ulimit -Hc; ulimit -Sc')" '^0' "no core dumps"
like "$(in_box -c 'ulimit -Hn 9999999' 2>&1)" 'not permitted|rror' "ulimit says so"

like "$(in_box -c 'nice -n -20 sh -c nice')" 'denied|not permitted' "nice -20 is refused"
is "$(in_box -c 'nice -n -20 nice 2>/dev/null')" "$(in_box -- nice)" "and has no effect"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; for my $p (1, 2, 6) { my $a = pack("i", $p == 6 ? 0 : 50); print syscall(SYS_sched_setscheduler(), 0, $p, $a) == -1 ? "$!\n" : "done\n" }')" 'not permitted|Invalid' "no real-time scheduling"
unlike "$(in_box -- perl -e 'require "sys/syscall.ph"; for my $p (1, 2, 6) { my $a = pack("i", $p == 6 ? 0 : 50); print syscall(SYS_sched_setscheduler(), 0, $p, $a) == -1 ? "$!\n" : "done\n" }')" 'done' "none at all"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_ioprio_set(), 1, 0, 1 << 13) == -1 ? "$!" : "done"')" 'not permitted' "no real-time input and output"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_setpriority(), 0, 1, -5) == -1 ? "$!" : "done"')" 'not permitted|denied' "init's priority stays"

# The OOM killer: a command starts at 500 and stays there.  0 is where boxd's starter usually is: no capability is needed to go back.
base=$(cat "/proc/$BOXD_PID/oom_score_adj")
oom_of() { # session, what is written: where a command of it then is
	in_session "$1" -c "exec 2>&1; echo $2 >/proc/self/oom_score_adj; echo $2 >/proc/\$\$/task/\$\$/oom_score_adj; cat /proc/self/oom_score_adj" | tail -n 1
}
oom_stays() { # session
	is "$(in_session "$1" -- cat /proc/self/oom_score_adj)" 500 "$1: a command is the OOM killer's choice before boxd"
	is "$(oom_of "$1" -1000)" 500 "$1: it cannot be exempt from it"
	is "$(oom_of "$1" $((base - 1)))" 500 "$1: nor come after boxd"
	is "$(oom_of "$1" "$base")" 500 "$1: nor be as boxd is"
	is "$(oom_of "$1" 1000)" 500 "$1: nor change it at all"
	is "$(in_session "$1" -c 'exec 2>&1; echo -17 >/proc/self/oom_adj; cat /proc/self/oom_score_adj' | tail -n 1)" 500 "$1: nor by the old name"
}
oom_stays s
if [ "$(id -u)" = 0 ]; then
	boxctl create --name writable --pids 60 --memory 96 --writable-root >/dev/null
	oom_stays writable
else
	skip 6 "only a boxd that runs as root can give a writable root"
fi

# The files behind the limits: written from nowhere inside, and what they say stays; also in a slot used for the first time.
limit_files() { find /sys/fs/cgroup -path "*/s$(boxctl inspect s -o json | sed -n 's/.*"id": \([0-9]*\).*/\1/p')/*" \
	\( -name 'memory*limit_in_bytes' -o -name memory.max -o -name pids.max -o -name cpu.max -o -name cpu.cfs_quota_us \
	-o -name cgroup.freeze -o -name freezer.state \) 2>/dev/null | sort | while read -r f; do echo "${f#/sys/fs/cgroup} $(cat "$f")"; done; }
cat >"$D/write.pl" <<'EOF'
use File::Find;
my ($tried, $done) = (0, 0);
sub try { my ($f, $v) = @_; $tried++; $done++, print "wrote $f\n" if open(my $h, ">", $f) and syswrite($h, $v) }
# as a path, by every descriptor anybody has, and through the roots and working directories of others
for my $root ("", glob("/proc/[0-9]*/root"), glob("/proc/[0-9]*/cwd"), "/proc/self/cwd/..") {
	for my $dir ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/cgroup") {
		try("$root$dir/$_", "0") for qw(tasks cgroup.procs pids.max memory.max memory.limit_in_bytes cpu.max);
	}
}
for my $fd (glob("/proc/[0-9]*/fd/*"), glob("/proc/[0-9]*/task/*/fd/*")) {
	my $to = readlink($fd) // "";
	try($fd, "0") if $to =~ /cgroup|tasks/;
	for my $f (qw(tasks pids.max memory.max ../pids.max ../memory.max ../../tasks)) { try("$fd/$f", "0") }
}
print "tried several, $done done\n" if $tried > 50;
EOF
before=$(limit_files)
is "$(in_box -- perl -e "$(cat "$D/write.pl")")" "tried several, 0 done" "no file of a cgroup is written"
box exec s -t 20 -- sleep 5 >/dev/null 2>&1 & # takes the slot, so that the next has a new one
busy=$!
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect s -o json | grep -q '\"running\": 1'"
is "$(in_box -- perl -e "$(cat "$D/write.pl")")" "tried several, 0 done" "nor from a new place beside another command"
wait $busy
if [ -n "$before" ]; then
	is "$(limit_files | grep -v '/x1/')" "$before" "and the limits are what they were"
	is "$(limit_files | grep '/x1/' | grep -Ev '9223372036854771712|max|THAWED| 0$')" "" "the new place has none that was raised or set"
else
	skip 2 "the session's cgroups are not seen from here"
fi

# Processes of others: no pid inside names one.
timeout -k 5 30 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec other -t 25 -c 'echo ready; exec sleep 20' >"$D/other" 2>&1 &
holder=$!
eventually grep -q ready "$D/other"
victim=$(pgrep -P "$(init_of other)" | head -n 1)
isnt "$victim" "" "another session's command runs"
like "$(in_box -- perl -e 'print kill(0, $ARGV[0]) ? "there" : "$!"' "$victim")" 'No such process' "its pid on the host names nobody inside"
like "$(in_box -- perl -e 'print kill(0, $ARGV[0]) ? "there" : "$!"' "$BOXD_PID")" 'No such process' "nor does boxd's"
is "$(in_box -- perl -e 'my $n = 0; for (2 .. 70000) { next if $_ == $$; $n++ if kill 9, $_ } print $n')" 0 "who kills every number hits nobody"
is "$(in_box -- perl -e 'require "sys/syscall.ph"; my $n = 0; for (2 .. 70000) { next if $_ == $$; my $r = pack("QQ", 0, 0); $n++ if syscall(SYS_prlimit64(), $_, 7, 0, $r) == 0 } print $n')" 0 "who asks for everybody's limits finds nobody"
in_box -- perl -e 'kill 9, -1; kill 19, -1; kill 9, 0' >/dev/null
! _ended "$victim"
ok "the other session's command was not hit"
! _ended "$BOXD_PID"
ok "nor boxd"
is "$(box exec other -t 10 -- echo alive)" alive "the other session lives on"
is "$(in_box -- echo alive)" alive "and the one that killed"
kill $holder 2>/dev/null
wait $holder
boxd_stop

# Landlock closes /proc as well, where there is any.
boxd_config 'landlock = no'
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null
oom_stays s
done_testing
