#!/bin/sh
# /proc shows the sandbox's own processes; what is the machine's is hidden or cannot be written.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
boxctl create --name other >/dev/null

box exec other -t 15 -- sleep 14 >/dev/null 2>&1 &
is "$(in_box -- ls /proc | grep -c '^[0-9]')" 2 "no process but init and ls"
is "$(in_box -- perl -e 'for (1 .. 40000) { print "$_ " if $_ != $$ && -e "/proc/$_" }')" "1 " "nor one that is only not listed"

for f in kcore keys key-users timer_list sched_debug latency_stats kmsg cmdline config.gz; do
	if [ -e "/proc/$f" ]; then
		is "$(in_box -c "timeout 2 head -c 64 /proc/$f 2>/dev/null | wc -c" | tr -d ' ')" 0 "/proc/$f tells nothing"
	else
		skip 1 "this kernel has no /proc/$f"
	fi
done
for d in acpi asound scsi; do
	if [ -d "/proc/$d" ]; then
		is "$(in_box -c "ls -A /proc/$d")" "" "/proc/$d is empty"
	else
		skip 1 "this kernel has no /proc/$d"
	fi
done
like "$(in_box -c 'cut -d" " -f1 /proc/kallsyms 2>/dev/null | sort -u | head -n 3; echo')" '^0*$' "no addresses of the kernel"
for f in kpagecount kpageflags slabinfo vmallocinfo pagetypeinfo; do
	[ -e "/proc/$f" ] && is "$(in_box -c "head -c 8 /proc/$f 2>/dev/null | wc -c" | tr -d ' ')" 0 "/proc/$f is closed" ||
		skip 1 "this kernel has no /proc/$f"
done
like "$(in_box -c 'cat /proc/iomem 2>/dev/null | cut -d: -f1 | tr -d " 0\n-"; echo')" '^$' "no physical addresses"
is "$(in_box -c 'tail -n +2 /proc/net/unix; tail -n +2 /proc/net/tcp; tail -n +2 /proc/net/udp; tail -n +2 /proc/net/packet')" "" "no socket of the host"
is "$(in_box -c 'tail -n +2 /proc/sysvipc/shm')" "" "no shared memory of the host"

# Everything of /proc that a mode lets uid 0 inside write must not be writable all the same.  Opened, never written.
cat >"$D/writable.pl" <<'EOF'
use Fcntl;
use File::Find;
$SIG{ALRM} = sub { print "too slow\n"; exit };
alarm 15;
find({ no_chdir => 1, wanted => sub {
	if (m{^/proc/(\d+|self|thread-self)$} || $_ eq "/proc/net") { $File::Find::prune = 1; return }
	return if -l $_ || -d _;
	return if -c _ && (stat _)[6] == 0x103; # /dev/null over it
	$n++;
	print "$_\n" if sysopen(my $f, $_, O_WRONLY | O_NONBLOCK);
} }, "/proc");
print "$n looked at\n";
EOF
writable=$(in_box -- perl -e "$(cat "$D/writable.pl")")
like "$writable" '^[0-9]{3,} looked at$' "hundreds of files in /proc were tried"
is "$(printf '%s\n' "$writable" | grep -v 'looked at')" "" "none opens for writing"
if [ "$(id -u)" = 0 ]; then
	perl -MFcntl -e 'sysopen(my $f, "/proc/sys/kernel/core_pattern", O_WRONLY) or die'
	ok "the probe can open core_pattern on the host"
else
	skip 1 "only root can open core_pattern on the host"
fi
for f in sys/kernel/core_pattern sys/kernel/modprobe sys/kernel/hostname sys/vm/overcommit_memory sys/fs/binfmt_misc/register \
	sys/net/ipv4/ip_forward sys/net/ipv4/ping_group_range sys/kernel/msgmax sys/user/max_user_namespaces sysrq-trigger \
	irq/default_smp_affinity; do
	like "$(in_box -c "cat /proc/$f 2>/dev/null >/tmp/was; cat /tmp/was >/proc/$f")" 'Read-only|denied|No such|nonexistent' "/proc/$f is not written"
done
for d in bus fs irq sys; do
	[ -d "/proc/$d" ] && like "$(in_box -- grep " /proc/$d " /proc/mounts)" ' ro,' "/proc/$d is mounted read-only" ||
		skip 1 "this kernel has no /proc/$d"
done
done_testing
