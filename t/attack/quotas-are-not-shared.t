#!/bin/sh
# What the kernel counts by user is counted by session: one session cannot use it up for another, or for the host.
#
# A user namespace's use is also counted for who made it.  Were that root, every sandbox would draw on
# root's own 128 inotify instances, queued signals and bytes of message queues.
. t/lib/sh/boxd.sh
needs_syscall_numbers
boxd_start
boxctl create --name a --pids 60 --memory 96 >/dev/null
boxctl create --name b --pids 60 --memory 96 >/dev/null

cat >"$D/take.pl" <<'EOF'
require "sys/syscall.ph";
my ($what, $most, $hold) = @ARGV;
my $queue = pack("q4x32", 0, 10, 8192, 0);
my $info = pack("i6x104", 40, 0, -1, 0, $$, 0);
my $signals = pack("Q", 1 << 39);
my @keep;
syscall(SYS_rt_sigprocmask(), 0, $signals, 0, 8) if $what eq "signals";
my %one = (
	inotify => sub { syscall(SYS_inotify_init1(), 0) >= 0 },
	signals => sub { syscall(SYS_rt_sigqueueinfo(), $$, 40, $info) == 0 },
	queues => sub { my $n = "boxd-t-$$-" . @keep; my $ok = syscall(SYS_mq_open(), $n, 0102, 0600, $queue) >= 0; push @keep, $n if $ok; $ok },
	terminals => sub { open(my $f, "+<", "/dev/ptmx") or return 0; push @keep, $f; 1 },
);
$| = 1;
my $n = 0;
$n++ while $n < $most && $one{$what}->();
print "$n\n";
sleep $hold;
if ($what eq "queues") { syscall(SYS_mq_unlink(), $_) for @keep }
EOF
take=$(cat "$D/take.pl")

# "kind most": more than anybody has
for kind in "inotify 3000" "signals 400000" "queues 200" "terminals 5000"; do
	set -- $kind
	if [ "$1" != terminals ] && boxctl status | grep -Eq 'uids: +single'; then
		skip 3 "$1: all sandboxes of an ordinary user have that one user's"
		continue
	fi
	: >"$D/took"
	timeout -k 5 20 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec a -t 12 -e "TAKE=$take" \
		-c "ulimit -n \$(ulimit -Hn); exec perl -e \"\$TAKE\" $1 $2 10" >"$D/took" 2>&1 &
	holder=$!
	eventually grep -qE '^[0-9]+$' "$D/took"
	note "$1: one session got $(cat "$D/took")"
	ok "$1: the probe got some" [ "$(cat "$D/took")" -gt 0 ]
	is "$(box exec b -t 10 -e "TAKE=$take" -c "exec perl -e \"\$TAKE\" $1 1 0" 2>&1)" 1 "$1: another session still gets one"
	is "$(perl -e "$take" "$1" 1 0)" 1 "$1: the host still gets one"
	kill $holder 2>/dev/null
	wait $holder 2>/dev/null
	box exec a -t 5 -c 'kill -9 -1' >/dev/null 2>&1
done
is "$(box exec b -- echo alive)" alive "the neighbour lives on"
done_testing
