#!/bin/sh
# Without a network a command reaches its own loopback, and at once nothing else: not the host's either.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null
boxctl create --name other --pids 60 --memory 96 >/dev/null

# On the host: a TCP and a UDP port of 127.0.0.1, and an abstract socket.  Whoever comes is written down.
cat >"$D/listen.pl" <<'EOF'
use Socket;
use POSIX ();
alarm 60;
my ($dir) = @ARGV;
my @s;
socket($s[0], PF_INET, SOCK_STREAM, 0) && bind($s[0], sockaddr_in(0, INADDR_LOOPBACK)) && listen($s[0], 9) or die;
my ($port) = sockaddr_in(getsockname $s[0]);
socket($s[1], PF_INET, SOCK_DGRAM, 0) && bind($s[1], sockaddr_in($port, INADDR_LOOPBACK)) or die;
socket($s[2], PF_UNIX, SOCK_STREAM, 0) && bind($s[2], pack("Sa*", AF_UNIX, "\0boxd-t-$$")) && listen($s[2], 9) or die;
open(my $f, ">", "$dir/.ports") or die;
print $f "$port boxd-t-$$\n";
close $f;
rename "$dir/.ports", "$dir/ports";
while (1) {
	my $in = "";
	vec($in, fileno $_, 1) = 1 for @s;
	select($in, undef, undef, undef) > 0 or next;
	for my $i (0 .. 2) {
		vec($in, fileno $s[$i], 1) or next;
		$i == 1 ? recv($s[1], my $b, 99, 0) : accept(my $c, $s[$i]);
		open(my $v, ">>", "$dir/visitors");
		print $v qw(tcp udp abstract)[$i], "\n";
	}
}
EOF
perl "$D/listen.pl" "$D" </dev/null >"$D/listen.log" 2>&1 &
listener=$!
eventually test -e "$D/ports"
read -r port name <"$D/ports"

# host, port, abstract name: what happens, and how long it took
cat >"$D/reach.pl" <<'EOF'
use Socket qw(:all);
use Time::HiRes qw(time);
my ($port, $name) = @ARGV;
$SIG{ALRM} = sub { die "slow\n" };
sub try {
	my ($what, $code) = @_;
	my $t = time;
	my $r = eval { alarm 3; my $x = $code->(); my $e = $x ? "OK" : "$!"; alarm 0; $e } // "SLOW";
	$r .= " SLOW" if time - $t > 1;
	print "$what: $r\n";
}
sub to { my ($type, $addr, $p) = @_; socket(my $s, PF_INET, $type, 0) or return 0; connect($s, sockaddr_in($p, inet_aton($addr))) && ($type == SOCK_STREAM || send($s, "x", 0)) }
sub to6 { my ($type, $addr, $p) = @_; socket(my $s, PF_INET6, $type, 0) or return 0; connect($s, pack_sockaddr_in6($p, inet_pton(AF_INET6, $addr))) && ($type == SOCK_STREAM || send($s, "x", 0)) }
try("tcp", sub { to(SOCK_STREAM, "192.0.2.1", 80) });
try("udp", sub { to(SOCK_DGRAM, "192.0.2.1", 53) });
try("tcp6", sub { to6(SOCK_STREAM, "2001:db8::1", 80) });
try("udp6", sub { to6(SOCK_DGRAM, "2001:db8::1", 53) });
try("multicast", sub { to(SOCK_DGRAM, "224.0.0.1", 9) });
try("broadcast", sub { socket(my $s, PF_INET, SOCK_DGRAM, 0); setsockopt($s, SOL_SOCKET, SO_BROADCAST, 1); send($s, "x", 0, sockaddr_in(9, INADDR_BROADCAST)) });
try("linklocal", sub { to(SOCK_STREAM, "169.254.169.254", 80) });
try("mapped", sub { to6(SOCK_STREAM, "::ffff:192.0.2.1", 80) });
try("fastopen", sub { socket(my $s, PF_INET, SOCK_STREAM, 0); send($s, "x", 0x20000000, sockaddr_in(80, inet_aton("192.0.2.1"))) });
try("mptcp", sub { socket(my $s, PF_INET, SOCK_STREAM, 262) or return 0; connect($s, sockaddr_in(80, inet_aton("192.0.2.1"))) });
try("dns", sub { gethostbyname("boxd.example.com") || do { $! = 101; 0 } });
try("host tcp", sub { to(SOCK_STREAM, "127.0.0.1", $port) });
try("host udp", sub { socket(my $s, PF_INET, SOCK_DGRAM, 0); connect($s, sockaddr_in($port, INADDR_LOOPBACK)); send($s, "x", 0); select(undef, undef, undef, .1); send($s, "x", 0) });
try("host abstract", sub { socket(my $s, PF_UNIX, SOCK_STREAM, 0); connect($s, pack("Sa*", AF_UNIX, "\0$name")) });
try("own loopback", sub { socket(my $l, PF_INET, SOCK_STREAM, 0); bind($l, sockaddr_in(0, INADDR_LOOPBACK)); listen($l, 1); socket(my $s, PF_INET, SOCK_STREAM, 0); connect($s, getsockname $l) });
EOF
reach=$(cat "$D/reach.pl")
# the control reaches the listeners only, and sends nothing anywhere else
timeout -k 5 20 perl -e "$(grep -vE '^try\("(tcp|udp|tcp6|udp6|multicast|broadcast|linklocal|mapped|fastopen|mptcp|dns)"' "$D/reach.pl")" "$port" "$name" >"$D/host"
is "$(grep -c ': OK' "$D/host")" 4 "the probe reaches the host's listeners on the host"
eventually sh -c '[ "$(sort -u "$0/visitors" | wc -l)" -eq 3 ]' "$D"
ok "and they tell"
: >"$D/visitors"

got=$(in_box -- perl -e "$reach" "$port" "$name")
for what in tcp udp tcp6 udp6 multicast broadcast linklocal mapped fastopen dns; do
	like "$got" "^$what: (Network is unreachable|Cannot assign requested address|No route to host|Operation not permitted)\$" "unreachable, and at once: $what"
done
like "$got" '^mptcp: (Network is unreachable|Protocol not (supported|available))$' "unreachable, and at once: mptcp"
for what in tcp udp abstract; do
	like "$got" "^host $what: Connection refused\$" "the host's $what listener is not there"
done
like "$got" '^own loopback: OK$' "its own loopback is"
is "$(cat "$D/visitors")" "" "nobody came to the host's listeners"

# two sessions: the same port, the same abstract name, and they do not meet
timeout -k 5 20 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec other -t 15 -- perl -MSocket -e '$| = 1;
	socket(L, PF_INET, SOCK_STREAM, 0); bind(L, sockaddr_in(4321, INADDR_LOOPBACK)) && listen(L, 1) or die;
	socket(U, PF_UNIX, SOCK_STREAM, 0); bind(U, pack("Sa*", AF_UNIX, "\0$ARGV[0]")) && listen(U, 1) or die;
	print "ready\n"; sleep 9' "$name" >"$D/other" 2>&1 &
neighbour=$!
eventually grep -q ready "$D/other"
is "$(in_box -- perl -e "$reach" 4321 "$name" | grep -cE '^host (tcp|abstract): Connection refused')" 2 "another session's listeners are not there"
is "$(box exec other -t 10 -- perl -e "$reach" 4321 "$name" | grep -cE '^host (tcp|abstract): OK')" 2 "though that session reaches them"
like "$(in_box -c 'ip link add d0 type dummy; ip route add default dev lo; ip addr add 192.0.2.2/24 dev lo' 2>&1)" 'not permitted|denied|not found' "no device, route or address can be added"
kill $listener $neighbour 2>/dev/null
done_testing
