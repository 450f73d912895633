#!/bin/sh
# Of the kernel's protocol families a command gets four, and of netlink one protocol.
. t/lib/sh/boxd.sh
needs_syscall_numbers
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null

cat >"$D/probe.pl" <<'EOF'
require "sys/syscall.ph";
sub told {
	my ($name, $r) = @_;
	my ($e) = grep { $!{$_} } keys %!;
	print "$name ", $r == -1 ? $e : "OK", "\n";
	if ($r > 2) { open(my $h, "<&=", $r) } # and closed
}
for my $family (0, 3 .. 9, 11 .. 15, 17 .. 46, 255) {
	for my $type (1, 2, 3, 5) {
		told("socket-$family-$type", syscall(SYS_socket(), $family, $type, 0));
		told("socketpair-$family-$type", syscall(SYS_socketpair(), $family, $type, 0, my $two = "\0" x 8));
	}
}
told("netlink-$_", syscall(SYS_socket(), 16, 3, $_)) for 0 .. 22;
told("high-$_", syscall(SYS_socket(), $_ | 1 << 32, 1, 0)) for 40, 16, 17;
told("high-netlink", syscall(SYS_socket(), 16, 3, 9 | 1 << 32));
told("raw-$_", syscall(SYS_socket(), 2, 3, $_)) for 1, 6, 255;
told("raw6-$_", syscall(SYS_socket(), 10, 3, $_)) for 58, 255;
told("old-packet", syscall(SYS_socket(), 2, 10, 0x300)); # the kernel makes it AF_PACKET
told("mptcp", syscall(SYS_socket(), 2, 1, 262));
told("mptcp6", syscall(SYS_socket(), 10, 1, 262));
told("sctp", syscall(SYS_socket(), 2, 1, 132));
told("udplite", syscall(SYS_socket(), 2, 2, 136));
told("high-mptcp", syscall(SYS_socket(), 2, 1, 262 | 1 << 32));
told("ping", syscall(SYS_socket(), 2, 2, 1));
told("ping6", syscall(SYS_socket(), 10, 2, 58));
told("unix", syscall(SYS_socket(), 1, 1, 0));
told("unixpair", syscall(SYS_socketpair(), 1, 1, 0, my $two = "\0" x 8));
told("tcp", syscall(SYS_socket(), 2, 1, 0));
told("udp6", syscall(SYS_socket(), 10, 2, 0));
EOF
probe=$(cat "$D/probe.pl")
host=$(perl -e "$probe")
got=$(in_box -- perl -e "$probe")

for what in unix unixpair tcp udp6 netlink-0; do
	like "$got" "^$what OK\$" "allowed: $what"
done
is "$(printf '%s\n' "$got" | grep '^socket-' | grep -v ' EAFNOSUPPORT$')" "" "refused by the filter: every other family"
is "$(printf '%s\n' "$got" | grep '^socketpair-' | grep -v ' EAFNOSUPPORT$')" "" "also as a pair, which the kernel makes before it finds there are none"
is "$(printf '%s\n' "$got" | grep '^netlink-' | grep -v '^netlink-0 ' | grep -v ' EPROTONOSUPPORT$')" "" "refused: netlink but for routes"
unlike "$got" '^high.* OK$' "refused: numbers with bits the kernel does not look at"
for what in raw-1 raw-6 raw-255 raw6-58 raw6-255 old-packet ping ping6; do
	like "$got" "^$what (EPERM|EACCES|EPROTONOSUPPORT|ESOCKTNOSUPPORT|EAFNOSUPPORT)\$" "refused: $what"
done
for what in mptcp mptcp6 sctp udplite high-mptcp; do
	if printf '%s\n' "$host" | grep -q "^${what#high-} OK\$"; then
		like "$got" "^$what EPROTONOSUPPORT\$" "refused: $what, which the host has"
	else
		skip 1 "this kernel has no ${what#high-}"
	fi
done
if [ "$(id -u)" = 0 ]; then
	like "$host" '^raw-1 OK$' "the probe makes a raw socket on the host"
else
	like "$host" '^netlink-9 OK$' "the probe makes an audit socket on the host"
fi
done_testing
