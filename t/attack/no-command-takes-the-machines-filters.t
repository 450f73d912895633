#!/bin/sh
# Filters of programs and sockets are compiled into memory of which the whole machine has one budget: commands get none.
. t/lib/sh/boxd.sh
needs_syscall_numbers

# name and result of each way to install a filter that allows everything; a child for each, because it stays
cat >"$D/probe.pl" <<'EOF'
require "sys/syscall.ph";
my $code = pack("SCCL", 6, 0, 0, 0x7fff0000); # return ALLOW; for a socket: the whole packet
my $prog = pack("Sx![P]P", 1, $code);
syscall(SYS_prctl(), 38, 1, 0, 0, 0); # no new privileges
sub try {
	my ($name, $call) = @_;
	pipe(my $r, my $w);
	if (fork == 0) {
		my $result = $call->();
		my ($e) = grep { $!{$_} } keys %!;
		syswrite($w, $result == -1 ? $e : "OK");
		exit;
	}
	close $w;
	wait;
	sysread($r, my $word, 99);
	print "$name ", $word || "killed", "\n";
}
sub option {
	my ($domain, $type, $option) = @_;
	my $fd = syscall(SYS_socket(), $domain, $type, 0);
	my $one = pack("i", 1);
	return $fd if $fd == -1;
	syscall(SYS_setsockopt(), $fd, 1, 15, $one, 4); # SO_REUSEPORT
	return syscall(SYS_setsockopt(), $fd, 1, $option, $prog, length $prog);
}
try("seccomp-filter", sub { syscall(SYS_seccomp(), 1, 0, $prog) });
try("seccomp-all-threads", sub { syscall(SYS_seccomp(), 1, 1, $prog) });
try("seccomp-listener", sub { syscall(SYS_seccomp(), 1, 8, $prog) });
try("prctl-filter", sub { syscall(SYS_prctl(), 22, 2, $prog, 0, 0) });
try("prctl-high-bits", sub { syscall(SYS_prctl(), 22 | 1 << 32, 2, $prog, 0, 0) });
for (["unix", 1, 2], ["udp", 2, 2]) {
	my ($name, $domain, $type) = @$_;
	try("socket-$name", sub { option($domain, $type, 26) }); # SO_ATTACH_FILTER
	try("reuseport-$name", sub { option($domain, $type, 51) }) if $name eq "udp"; # SO_ATTACH_REUSEPORT_CBPF
}
EOF
probe=$(cat "$D/probe.pl")
ways=8

# The control: whoever calls them on the host gets them.
like "$(perl -e "$probe")" '^seccomp-filter OK$' "on the host a program gets a filter"
is "$(perl -e "$probe" | grep -c ' OK$')" $ways "in all the $ways ways"

tried() { # prints what was got; nothing when all of them were refused
	in_box -- perl -e "$probe" >"$D/got"
	[ "$(wc -l <"$D/got")" = $ways ] || echo "only $(wc -l <"$D/got") were tried"
	grep -E ' (OK|killed)$' "$D/got"
}
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null
is "$(tried)" "" "in a session it gets none"
is "$(grep -c '^seccomp.* ENOSYS$' "$D/got")" 3 "seccomp does not exist"
is "$(grep -c '^prctl.* EINVAL$' "$D/got")" 2 "prctl does not know filters"
is "$(grep -Ec '^(socket|reuseport).* ENOPROTOOPT$' "$D/got")" $((ways - 5)) "sockets have no such option"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; syscall(SYS_prctl(), 22, 1, 0, 0, 0); print "goes on"')" 'goes on' "nor the strict mode"
if command -v bwrap >/dev/null && in_box -- sh -c 'command -v bwrap' >/dev/null; then
	like "$(in_box -- bwrap --ro-bind / / true)" 'not permitted|namespace' "bwrap says why it cannot work"
else
	skip 1 "no bwrap here"
fi
is "$(in_box -- echo alive)" alive "the session lives on"
boxd_stop

# An operator may give them back: by prctl, which libseccomp uses where seccomp does not exist.
{
	echo 'allow prctl if arg0 == PR_SET_SECCOMP'
	"$BUILD/boxd" --print-seccomp
} >"$D/policy"
boxd_config "seccomp_policy = $D/policy"
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null
is "$(tried)" "prctl-filter OK
prctl-high-bits OK" "with a rule of the operator's it gets those of prctl and no others"
done_testing
