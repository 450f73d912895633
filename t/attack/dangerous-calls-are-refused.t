#!/bin/sh
# Calls that no command needs are refused before the kernel looks at their arguments, in every ABI.
. t/lib/sh/boxd.sh
needs_syscall_numbers
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null

# Arguments that can do no harm anywhere: who gets through meets EFAULT, EINVAL or EBADF.
cat >"$D/probe.pl" <<'EOF'
require "sys/syscall.ph";
my $bad = 1; # as a pointer
my %new = (open_tree => 428, move_mount => 429, fsopen => 430, fsconfig => 431, fsmount => 432, fspick => 433,
	mount_setattr => 442, io_uring_setup => 425, io_uring_enter => 426, io_uring_register => 427, quotactl_fd => 443,
	memfd_secret => 447, open_tree_attr => 467);
for (
	[mount => $bad, $bad, $bad, 0, 0], [umount2 => $bad, 0], [pivot_root => $bad, $bad], [chroot => $bad],
	[open_tree => -1, $bad, 1], [move_mount => -1, $bad, -1, $bad, 0], [fsopen => $bad, 0], [fsconfig => -1, 99, 0, 0, 0],
	[fsmount => -1, 0, 0], [fspick => -1, $bad, 0], [mount_setattr => -1, $bad, 0, $bad, 32],
	[io_uring_setup => 0, $bad], [io_uring_enter => -1, 0, 0, 0, 0, 0], [io_uring_register => -1, 0, 0, 0],
	[bpf => 9999, 0, 0], [perf_event_open => $bad, 0, 0, -1, 0], [userfaultfd => 0x40000000],
	[keyctl => 9999, 0, 0, 0, 0], [add_key => $bad, $bad, 0, 0, 0], [request_key => $bad, $bad, 0, 0],
	[kexec_load => 0, 9999, 0, 0x7fff], [kexec_file_load => -1, -1, 0, 0, 0x7fff], [init_module => $bad, 0, $bad],
	[finit_module => -1, $bad, 0], [delete_module => $bad, 0], [open_by_handle_at => -1, $bad, 0],
	[name_to_handle_at => -1, $bad, $bad, $bad, 0], [quotactl => 0x7fffffff, $bad, 0, 0], [quotactl_fd => -1, 0x7fffffff, 0, 0],
	[swapon => $bad, 0], [swapoff => $bad], [reboot => 1, 2, 3, 0], [acct => $bad], [syslog => -1, 0, 0],
	[fanotify_init => 0x7fffffff, 0], [sethostname => $bad, 5], [setdomainname => $bad, 5], [settimeofday => $bad, 0],
	[clock_settime => 0, $bad], [clock_adjtime => 0, $bad], [adjtimex => $bad], [iopl => 99], [ioperm => 1 << 30, 1, 1],
	[memfd_secret => 0x7fffffff], [open_tree_attr => -1, $bad, 0, $bad, 32], [modify_ldt => 99, $bad, 0],
	[personality => 0x400000], [personality => 0x80400000], [personality => 3],
	[setns => -1, 0], [unshare => 1], [process_vm_writev => 0, $bad, 1, $bad, 1, 0],
) {
	my ($name, @args) = @$_;
	my $nr = $new{$name} // eval { &{"SYS_$name"}() } // next;
	my $r = syscall($nr, @args);
	my ($e) = grep { $!{$_} } keys %!;
	print "$name ", $r == -1 ? $e : "OK", "\n";
}
EOF
probe=$(cat "$D/probe.pl")

host=$(perl -e "$probe")
got=$(in_box -- perl -e "$probe")
ok "the probe ends" [ "$(printf '%s\n' "$got" | wc -l)" -ge 35 ]
printf '%s\n' "$got" >"$D/got"
while read -r name result; do
	on_host=$(printf '%s\n' "$host" | sed -n "s/^$name //p")
	like "$result" '^(EPERM|ENOSYS)$' "refused: $name (on the host: $on_host)"
done <"$D/got"
if [ "$(id -u)" = 0 ]; then # the control: root on the host gets through to the arguments
	ok "most of them reach the kernel on the host" [ "$(printf '%s\n' "$host" | grep -cvE ' (EPERM|ENOSYS)$')" -ge 30 ]
else
	skip 1 "on the host an ordinary user is refused most of them as well"
fi

# ---- the machine's 32-bit ABI, by its trap: a filter that looks at one ABI only is passed by here

cat >"$D/i386.c" <<'EOF'
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
trap(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("push %%rbx\n\tmov %2, %%ebx\n\tint $0x80\n\tpop %%rbx"
			 : "=a"(r) : "0"(nr), "r"((int)a), "c"(b), "d"(c), "S"(0L), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static const struct { const char *name; long nr, a, b, c; } calls[] = {
	{ "getpid", 20 }, { "mount", 21, 1, 1, 1 }, { "umount", 22, 1 }, { "umount2", 52, 1 }, { "chroot", 61, 1 },
	{ "pivot_root", 217, 1, 1 }, { "unshare", 310, 0x10000000 }, { "clone", 120, 0x10000011 }, { "clone3", 435 },
	{ "setns", 346, -1 }, { "keyctl", 288, 9999 }, { "bpf", 357, 9999 }, { "init_module", 128, 1, 0, 1 },
	{ "io_uring_setup", 425, 0, 1 }, { "open_tree", 428, -1, 1, 1 }, { "vsock", 359, 40, 1, 0 }, { "audit", 359, 16, 3, 9 },
	{ "userfaultfd", 374, 0x40000000 }, { "perf_event_open", 336, 1 }, { "chmod", 15, 1, 04755 }, { "fchmod", 94, 99, 02755 },
	{ "fchmodat", 306, -100, 1, 04755 }, { "fchmodat2", 452, -100, 1, 04755 }, { "creat", 8, 1, 04755 },
	{ "open", 5, 1, 0100, 04755 }, { "mknod", 14, 1, 0104755 }, { "mknodat", 297, -100, 1, 0102755 }, { "openat2", 437, -100, 1, 1 },
	{ "personality", 136, 0x400000 }, { "open_tree_attr", 467, -1, 1 }, { "clock_settime64", 404, 0, 1 },
	{ "seccomp", 354, 1, 0, 1 }, { "prctl-seccomp", 172, 22, 2, 1 }, { "setsockopt-filter", 366, 99, 1, 26 },
};

int
main(void)
{
	static const int sockets[][3] = { { 40, 1, 0 }, { 38, 5, 0 }, { 17, 3, 0 }, { 16, 3, 9 }, { 31, 3, 1 } };
	uint32_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		int r = trap(calls[i].nr, calls[i].a, calls[i].b, calls[i].c);
		if (r == 0 && calls[i].nr == 120)
			_exit(0);
		printf("%s %s\n", calls[i].name, r < 0 ? strerrorname_np(-r) : "OK");
	}
	for (size_t i = 0; i < sizeof(sockets) / sizeof(*sockets); i++) {
		memcpy(low, sockets[i], sizeof(sockets[i]));
		int r = trap(102, 1, (long)low, 0);
		printf("socketcall-%d %s\n", sockets[i][0], r < 0 ? strerrorname_np(-r) : "OK");
	}
	errno = 0;
	printf("x32-getpid %s\n", syscall(0x40000000 | SYS_getpid) < 0 ? strerrorname_np(errno) : "OK");
	return 0;
}
EOF
if [ "$(uname -m)" = x86_64 ] && cc -O1 -o "$D/i386" "$D/i386.c" 2>"$D/cc.err" && "$D/i386" 2>/dev/null | grep -q '^getpid OK'; then
	got=$(in_box -i -c 'cat >/tmp/x; chmod +x /tmp/x; exec /tmp/x' <"$D/i386")
	like "$got" '^getpid OK$' "the 32-bit ABI is there"
	like "$("$D/i386")" '^(mount|pivot_root|chroot) (EFAULT|EPERM)$' "and the probe reaches it on the host"
	printf '%s\n' "$got" | grep -v ^getpid >"$D/got"
	while read -r name result; do
		like "$result" '^(EPERM|ENOSYS|EAFNOSUPPORT|EPROTONOSUPPORT|ENOPROTOOPT|EINVAL)$' "refused by the 32-bit trap: $name"
	done <"$D/got"
else
	skip 1 "no 32-bit ABI here, or no compiler"
fi

# ---- a terminal

cat >"$D/tty.pl" <<'EOF'
use POSIX ();
open(my $m, "+<", "/dev/ptmx") or die "ptmx: $!";
my $n = pack("i", 0);
ioctl($m, 0x40045431, $n) or die "unlock: $!";
ioctl($m, 0x80045430, $n) or die "number: $!";
POSIX::setsid();
if (fork == 0) {
	POSIX::setsid();
	open(my $s, "+<", "/dev/pts/" . unpack("i", $n)) or die "slave: $!";
	ioctl($s, 0x540e, 0); # TIOCSCTTY
	my $c = "x";
	print ioctl($s, 0x5412, $c) ? "typed" : "TIOCSTI: $!", "\n";
	print syscall(16, fileno($s), 0x100005412, $c) == 0 ? "typed" : "TIOCSTI with high bits: $!", "\n" if `uname -m` =~ /x86_64/;
	POSIX::_exit(0) if !defined $c;
	exit;
}
wait;
EOF
got=$(in_box -- perl -e "$(cat "$D/tty.pl")")
like "$got" 'TIOCSTI: Operation not permitted' "refused: typing into a terminal"
unlike "$got" typed "also with more bits than the kernel looks at"
like "$(in_box -- perl -e "$(sed 's/0x5412/0x5423/; s/"x"/pack("i", 0)/' "$D/tty.pl")")" 'TIOCSTI: Operation not permitted' "refused: loading a line discipline"

# ---- what debuggers and emulators need is allowed

is "$(in_box -- perl -e 'require "sys/syscall.ph"; for (0xffffffff, 0, 8, 0x20000, 0x40000, 0x40008, 0) { print syscall(SYS_personality(), $_) == -1 ? "$_: $!" : "" }')" "" \
	"allowed: personalities that protect nobody else less"
is "$(in_box -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_prctl(), 62, 1, 0, 0, 0) == -1 ? "$!" : "OK"')" "Invalid argument" "refused: a core of one's own"
if command -v strace >/dev/null; then
	like "$(in_box -- strace -f -e trace=openat sh -c 'cat /etc/hostname')" 'openat.*hostname' "allowed: strace of one's own children"
else
	skip 1 "no strace here"
fi
if command -v gdb >/dev/null; then
	like "$(in_box -- gdb -nx -batch -ex 'break main' -ex run -ex 'print 40 + 2' /bin/true)" '= 42' "allowed: gdb"
	like "$(in_box -c 'sleep 50 & gdb -nx -batch -p $! -ex "print 40 + 2"; kill $!')" '= 42' "allowed: gdb of a process that runs already"
else
	skip 2 "no gdb here"
fi
is "$(in_box -- echo alive)" alive "the session lives on"
done_testing
