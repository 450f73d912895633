#!/bin/sh
# Strangers from hundreds of addresses: who was let in before keeps its place, and who comes for the first time gets one.
# The network is a namespace of our own, in which all of 10.77.0.0/16 is this machine.
if [ -z "$OWN_NETWORK" ]; then
	command -v ip >/dev/null && unshare -n true 2>/dev/null || { echo "1..0 # SKIP this test needs ip and a network namespace"; exit 0; }
	OWN_NETWORK=yes exec unshare -n "$0"
fi
. t/lib/sh/hostile.sh
ip link set lo up
ip route add local 10.77.0.0/16 dev lo
mkdir -p "$D/shared"
boxd_config 'listen = 10.77.0.1:0' "langbot_dir = $D/shared" 'plaintext_beyond_loopback = yes'
boxd_start
http_find
P='
	sub from { my $c = IO::Socket::INET->new(PeerAddr => $at, LocalAddr => $_[0]) or die "dial from $_[0]: $!"; return $c; }
	my @flood;
	sub flood { push @flood, from("10.77." . int($_ / 200 + 20) . "." . ($_ % 200 + 1)) for 1 .. $_[0]; }
	sub status { sysread $_[0], my $b, 65536; return $b =~ m{^HTTP/1.1 (\d+)} ? $1 : "nothing"; }
	my $hello = hello("/rpc/ws", Host => "10.77.0.1");
	my ($first, $rest) = $hello =~ /^(.{40})(.*)$/s;
'
is "$(hostile "$P"'
	flood(300);
	my $new = from("10.77.9.9");
	put($new, $hello);
	print status($new)')" 101 "300 silent strangers, each from an address of its own: one that asks is let in"
is "$(hostile "$P"'
	my $slow = from("10.77.9.9");
	put($slow, $first);
	flood(300);
	put($slow, $rest);
	print status($slow)')" 101 "its address is known now: it may be slow to ask, and 300 that come after it do not push it out"
is "$(hostile "$P"'
	my $slow = from("10.77.8.8");
	put($slow, $first);
	flood(300);
	put($slow, $rest);
	print status($slow)')" 503 "one that is not known makes room, for it is the oldest"
is "$(hostile "$P"'
	my $slow = from("10.77.8.8");
	put($slow, $first);
	my @one = map { from("10.77.7.7") } 1 .. 300;
	put($slow, $rest);
	print status($slow)')" 101 "but not for 300 of one address: those make room for each other"
is "$(hostile "$P"'
	my @known = map { from("10.77.9.9") } 1 .. 300;
	my $new = from("10.77.8.7");
	put($new, $hello);
	print status($new)')" 101 "nor do known addresses keep others out"
same_gateway
done_testing
