#!/bin/sh
# Init runs under the same uid as the commands, and they can neither look into it, change it, nor end it.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null
needs_syscall_numbers

# probe PID: name and result of each attack on it
cat >"$D/probe.pl" <<'EOF'
require "sys/syscall.ph";
my $pid = 0 + shift; # a string would go as a pointer
my ($here, $buf) = ("x" x 64, "\0" x 4096);
my $there = 0 + (shift // 4096);
sub try {
	my ($name, $r) = @_;
	my ($e) = grep { $!{$_} } keys %!;
	print "$name ", $r == -1 ? $e : "OK", "\n";
	return $r;
}
my $local = pack("PQ", $here, 64);
my $remote = pack("QQ", $there, 64);
try("process_vm_readv", syscall(SYS_process_vm_readv(), $pid, $local, 1, $remote, 1, 0));
try("process_vm_writev", syscall(SYS_process_vm_writev(), $pid, $local, 1, $remote, 1, 0));
try("kcmp", syscall(SYS_kcmp(), 0 + $$, $pid, 2, 0, 0)); # KCMP_FILES
my $pidfd = syscall(434, $pid, 0);
if ($pidfd >= 0) {
	try("pidfd_getfd $_", syscall(438, $pidfd, $_, 0)) for 0, 3, 4;
	try("process_madvise", syscall(440, $pidfd, $remote, 1, 21, 0)); # MADV_PAGEOUT
	for my $ns (1 .. 10) { # PIDFD_GET_*_NAMESPACE
		my $r = syscall(SYS_ioctl(), $pidfd, 0xff00 + $ns, 0);
		try("namespace $ns by pidfd", $r) if $r != -1 || !($!{ENOTTY} || $!{EINVAL} || $!{EOPNOTSUPP});
	}
}
for my $f (qw(mem maps environ auxv exe cwd root ns/mnt ns/user ns/net fd syscall stack io personality pagemap smaps timers)) {
	my $r = -l "/proc/$pid/$f" ? defined readlink("/proc/$pid/$f") : -d _ ? opendir(my $d, "/proc/$pid/$f") :
		open(H, "<", "/proc/$pid/$f") && defined sysread(H, my $b, 1);
	try("read $f", $r ? 0 : -1);
}
# last: it stops who is caught
if (try("ptrace seize", syscall(SYS_ptrace(), 0x4206, $pid, 0, 0)) == -1) {
	try("ptrace attach", syscall(SYS_ptrace(), 16, $pid, 0, 0));
}
EOF
probe=$(cat "$D/probe.pl")

# The control: on a process of one's own most of it works, so what fails below is refused and not broken.
control=$(in_box -e "PROBE=$probe" -c 'sleep 5 & p=$!; perl -e "$PROBE" $p; kill -9 $p')
for what in 'kcmp (OK|ENOSYS)' 'pidfd_getfd 0 (OK|ENOSYS)' 'read maps OK' 'read environ OK' 'read fd OK' 'ptrace seize OK'; do
	like "$control" "^$what\$" "control, on a process of its own: $what"
done

got=$(in_box -- perl -e "$probe" 1)
for what in process_vm_readv process_vm_writev kcmp 'pidfd_getfd 0' 'pidfd_getfd 3' 'pidfd_getfd 4' 'ptrace seize' 'ptrace attach' \
	'read mem' 'read maps' 'read environ' 'read exe' 'read cwd' 'read root' 'read ns/mnt' 'read ns/user'; do
	like "$got" "^$what (EPERM|EACCES|ENOSYS)\$" "refused on init: $what"
done
unlike "$(printf '%s\n' "$got" | grep -v '^read \(timers\|fd\|pagemap\)')" ' OK$' "nothing else is allowed either"

in_box -c 'for s in HUP INT QUIT ILL ABRT FPE KILL SEGV PIPE ALRM TERM USR1 USR2 CHLD STOP TSTP TTIN CONT SYS TRAP 34 40 64; do kill -$s 1; done' >/dev/null
is "$(in_box -- echo alive)" alive "no signal ends or stops it"
in_box -- perl -e 'kill "KILL", -1; kill "STOP", -1; syscall(424, syscall(434, 1, 0), 9, 0, 0); syscall(424, syscall(434, 1, 0), 19, 0, 0)' >/dev/null
is "$(in_box -- echo alive)" alive "nor one to everybody, nor by pidfd"
in_box -- perl -e 'use Fcntl; my $f = ""; for (0 .. 2) { open(my $h, ">&=", $_); fcntl($h, F_SETOWN, 1); fcntl($h, 10, 9); fcntl($h, F_SETFL, O_ASYNC) } print "x" x 100' >/dev/null
is "$(in_box -- echo alive)" alive "nor one that a pipe sends to its owner"

# Its files in /proc: with another place before the OOM killer it would be its own session's first victim.
writes='for f in $(cd /proc/1 && ls -p | grep -v /) attr/current attr/exec attr/fscreate task/1/comm task/1/oom_score_adj; do
	[ -e /proc/1/$f ] || continue
	n=$((n + 1))
	for text in 900 0; do (printf $text >/proc/1/$f) 2>/dev/null && echo "$f"; done
done; echo "$n tried"'
got=$(in_box -c "$writes")
like "$got" '^[3-9][0-9] tried$' "its files in /proc are there"
is "$(printf '%s\n' "$got" | grep -v tried)" "" "and none is written"
is "$(in_box -- cat /proc/1/oom_score_adj)" "$(cat "/proc/$BOXD_PID/oom_score_adj")" "its place before the OOM killer is boxd's"
like "$(in_box -- cat /proc/1/comm)" 'box-init$' "and its name its own"

# Its own limits: with no descriptors left it could start nothing, with a limit of cpu time it would die.
cat >"$D/limit.pl" <<'EOF'
require "sys/syscall.ph";
my ($pid, $what) = (0 + shift, 0 + shift);
my $none = pack("QQ", 0, 0);
print syscall(SYS_prlimit64(), $pid, $what, $none, 0) == -1 ? "refused" : "lowered", "\n";
EOF
limit=$(cat "$D/limit.pl")
is "$(in_box -- perl -e "$limit" 0 7)" lowered "control: a command lowers a limit of its own"
for what in 7 0 9; do # descriptors, cpu time, address space
	is "$(in_box -- perl -e "$limit" 1 $what)" refused "init's limits are not lowered: $what"
done
is "$(in_box -- echo alive)" alive "and it still starts commands"
is "$(boxctl inspect s -o json | sed -n 's/.*"worker_restarts": \([0-9]*\).*/\1/p')" 0 "and the worker noticed nothing"

# Without landlock too: /proc is mounted read-only.
boxd_stop
boxd_config 'landlock = no'
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null
is "$(in_box -c "$writes" | grep -v tried)" "" "without landlock none is written either"
done_testing
