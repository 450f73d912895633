#!/bin/sh
# Every number of a system call, asked of the kernel: what the policy does not name does not exist, what it allows does.
. t/lib/sh/boxd.sh
[ "$(uname -m)" = x86_64 ] || plan skip_all "the probe is for x86-64 and i386"
command -v cc >/dev/null || plan skip_all "no compiler here"
headers=$(echo '#include <asm/unistd.h>' | cc -E -M - 2>/dev/null | tr ' \\' '\n\n' | sed -n 's/unistd.h$//p' | grep '/asm/$' | head -n 1)
[ -e "${headers}unistd_64.h" ] && [ -e "${headers}unistd_32.h" ] || plan skip_all "the kernel's headers are not installed"

# One child for each number.  Every argument is 1: no pointer, no file, and as a pid init, which is not theirs.
cat >"$D/probe.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MISSING = 77, THERE = 0 };

static long
call(int trap, long nr)
{
	long r;

	if (!trap)
		return syscall(nr, 1, 1, 1, 1, 1, 1) == -1 ? -errno : 0;
	__asm__ volatile("push %%rbx\n\tmov $1, %%ebx\n\tint $0x80\n\tpop %%rbx"
			 : "=a"(r) : "0"(nr), "c"(1L), "d"(1L), "S"(1L), "D"(1L) : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

/* Whatever ends the child but its own word: the call was made. */
static int
is_missing(int trap, long nr)
{
	int   status;
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		_exit(call(trap, nr) == -ENOSYS ? MISSING : THERE);
	}
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == MISSING;
}

int
main(int argc, char **argv)
{
	int trap = strcmp(argv[1], "i386") == 0;

	if (getenv("BOXD_T_INSIDE") == NULL || getpid() == 1)
		return 1; /* for a sandbox alone */
	for (long nr = 0; nr <= 600; nr++) {
		int skip = 0;

		for (int i = 2; i < argc; i++)
			skip |= atol(argv[i]) == nr;
		if (!skip)
			printf("%ld %s\n", nr, is_missing(trap, nr) ? "missing" : "there");
		fflush(stdout);
	}
	return 0;
}
END
cc -O1 -static -o "$D/probe" "$D/probe.c" 2>"$D/err" || cc -O1 -o "$D/probe" "$D/probe.c" || plan skip_all "the probe does not compile"

# Number and name.  pause and sigsuspend would wait, sync is all of the machine's disks.  uretprobe and uprobe (335, 336)
# pass by every filter: the kernel enters them itself when somebody traces, and kills whoever does by hand.
numbers() { sed -n 's/^#define __NR_\([a-z0-9_]*\)[[:space:]]\{1,\}\([0-9]*\)$/\2 \1/p' "${headers}unistd_$1.h"; }
numbers 64 >"$D/x86_64"
numbers 32 >"$D/i386"
left_out() { [ "$1" = i386 ] || echo 335 336; awk '$2 ~ /^(pause|sigsuspend|sync)$/ { print $1 }' "$D/$1"; }

# number, and what the policy says: named, or nothing; a call that is denied with ENOSYS is as good as not named
cat >"$D/policy.pl" <<'END'
my ($policy, $table) = @ARGV;
open(my $t, "<", $table) or die;
my %nr = map { my ($n, $name) = split; $name => $n } <$t>;
open(my $p, "<", $policy) or die;
my %named;
while (<$p>) {
	s/#.*//;
	s/\s+if\s.*//s;
	my ($action, @calls) = split or next;
	next if $action eq "default";
	shift @calls if $action eq "deny";
	for (@calls) {
		s/^\?//;
		my $n = s/=(\d+)$// ? $1 : $nr{$_};
		$named{$n} = $_ if defined $n;
	}
}
print "$_ ", $named{$_} // "-", "\n" for 0 .. 600;
END

run() { # abi: what the probe says inside
	in_box -i -e BOXD_T_INSIDE=1 -c "cat >/tmp/x; chmod +x /tmp/x; exec /tmp/x $1 $(left_out "$1" | tr '\n' ' ')" <"$D/probe"
}
boxd_start
boxctl create --name s --memory 256 --pids 100 >/dev/null
for abi in x86_64 i386; do run $abi >"$D/got.$abi"; done
is "$(in_box -- echo alive)" alive "the session lives on"
boxd_stop

# The control: the same kernel behind a policy that allows everything.
echo 'default allow' >"$D/open.policy"
boxd_config "seccomp_policy = $D/open.policy"
boxd_start
boxctl create --name s --memory 256 --pids 100 >/dev/null
for abi in x86_64 i386; do run $abi >"$D/control.$abi"; done

for abi in x86_64 i386; do
	if [ "$(grep -c there "$D/control.$abi")" -lt 100 ]; then
		skip 5 "this kernel has no calls of $abi"
		continue
	fi
	ok "$abi: all numbers were tried" [ "$(wc -l <"$D/got.$abi")" -ge 595 ]
	perl "$D/policy.pl" etc/seccomp.policy "$D/$abi" | sort >"$D/said"
	sort "$D/got.$abi" | join - "$D/said" | sort -k 1b,1 >"$D/both"
	sort -k 1b,1 "$D/control.$abi" | join "$D/both" - >"$D/all" # number, got, name or -, control
	is "$(awk '$3 == "-" && $2 == "there" { print $1 }' "$D/all")" "" "$abi: what nobody named does not exist"
	is "$(awk '$3 != "-" && $2 == "missing" && $4 == "there" { print $1, $3 }' "$D/all")" "" "$abi: what is named is answered"
	ok "$abi: the kernel has several that nobody named: $(awk '$3 == "-" && $4 == "there"' "$D/all" | wc -l)" \
		[ "$(awk '$3 == "-" && $4 == "there"' "$D/all" | wc -l)" -ge 20 ]
	ok "$abi: and hundreds are named and there" [ "$(awk '$3 != "-" && $2 == "there"' "$D/all" | wc -l)" -ge 280 ]
done
for name in ustat sysfs io_setup io_uring_setup openat2 move_pages; do
	nr=$(awk -v n="$name" '$2 == n { print $1 }' "$D/x86_64")
	like "$(grep "^$nr " "$D/got.x86_64")" missing "$name does not exist"
done
is "$(in_box -- echo alive)" alive "the session of the control lives on"
done_testing
