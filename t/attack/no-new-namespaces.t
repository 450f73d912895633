#!/bin/sh
# A command stays in the namespaces it was born into: it makes none and joins none.
. t/lib/sh/boxd.sh
needs_syscall_numbers
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null

cat >"$D/probe.pl" <<'EOF'
require "sys/syscall.ph";
use POSIX ();
my %flag = (time => 0x80, mnt => 0x20000, cgroup => 0x2000000, uts => 0x4000000, ipc => 0x8000000, user => 0x10000000,
	pid => 0x20000000, net => 0x40000000);
$| = 1;
sub told { my ($name, $r) = @_; my ($e) = grep { $!{$_} } keys %!; print "$name ", $r == -1 ? $e : "OK", "\n" }
sub child { my ($code) = @_; my $p = fork // return; if ($p == 0) { $code->(); POSIX::_exit(0) } waitpid $p, 0 }
sub cloned { # a child would go on with our script
	my ($name, $r) = @_;
	POSIX::_exit(0) if $r == 0;
	told($name, $r);
	waitpid $r, 0 if $r > 0;
}
for my $n (sort keys %flag) {
	child(sub { told("unshare $n", syscall(SYS_unshare(), $flag{$n})) });
	cloned("clone $n", syscall(SYS_clone(), $flag{$n} | 17, 0, 0, 0, 0)) if $n ne "time"; # clone has no bit for it
	my $args = pack("Q11", $flag{$n}, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0);
	cloned("clone3 $n", syscall(435, $args, 88));
	for my $whose ($ARGV[0] // 1, "self") {
		my $path = "/proc/$whose/ns/$n";
		if (open(my $f, "<", $path)) {
			child(sub { told("setns $n", syscall(SYS_setns(), fileno $f, 0)) });
		} else {
			told("open $path", -1);
		}
	}
}
cloned("clone high", syscall(SYS_clone(), 0x7e020000 | 17, 0, 0, 0, 0));
child(sub { told("setns pidfd", syscall(SYS_setns(), syscall(434, 1, 0), 0x7e020000)) });
cloned("clone plain", syscall(SYS_clone(), 17, 0, 0, 0, 0));
EOF
probe=$(cat "$D/probe.pl")

if [ "$(id -u)" = 0 ]; then # in children that end at once
	is "$(timeout -k 5 20 perl -e "$probe" self | grep -cE '^(unshare|clone|clone3) (mnt|uts|ipc|net|user|pid|cgroup) OK')" 21 \
		"the probe makes every kind on the host"
else
	like "$(timeout -k 5 20 perl -e "$probe" self)" '^unshare user OK' "the probe makes a user namespace on the host"
fi
got=$(in_box -- perl -e "$probe")
for n in mnt cgroup uts ipc user pid net time; do
	like "$got" "^unshare $n EPERM\$" "refused: unshare $n"
	[ $n = time ] || like "$got" "^clone $n EPERM\$" "refused: clone $n"
	like "$got" "^clone3 $n ENOSYS\$" "refused: clone3 $n"
	like "$got" "^(setns $n EPERM|open /proc/self/ns/$n ENOENT)\$" "refused: setns to its own $n"
	like "$got" "^open /proc/1/ns/$n (EACCES|EPERM|ENOENT)\$" "not to be had: init's $n"
done
like "$got" '^clone high EPERM$' "refused: clone with all of them"
like "$got" '^setns pidfd EPERM$' "refused: setns by a pidfd"
like "$got" '^clone plain OK$' "a plain clone works"
unlike "$got" '^(unshare|setns|clone3) .*OK$' "nothing got through"
is "$(in_box -c 'exec 2>&1; unshare -Ur id -u; nsenter -t 1 -m true; echo end' | tail -n 1)" end "the tools of util-linux gain nothing"
done_testing
