#!/usr/bin/perl
# A WebSocket server for tests of a client, one connection long, without libraries:
#
#	wspeer.pl PLACE HOW >events
#
# PLACE is the path of a Unix socket, or "tcp" (the port is the first event).  Events are lines: the request's lines,
# "text BYTES MD5", "close CODE REASON", "unmasked", "gone".  HOW:
#	echo     every message comes back
#	refuse   401
#	lie      101 with a wrong key
#	drop     ends without a word after the first message
#	leave    close 1001 after the first message
#	flood    answers the first message with 200 of 100 kB, then echoes
#	early    a message together with the handshake
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);
use Digest::SHA qw(sha1);
use IO::Socket::INET;
use IO::Socket::UNIX;
use MIME::Base64;

my ($place, $how) = @ARGV;
alarm 300; # whoever should come may not
$| = 1;
my $listen = $place eq "tcp" ? IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") :
    IO::Socket::UNIX->new(Listen => 1, Local => "$place.new");
rename "$place.new", $place; # there is a moment between bind and listen
print "port " . $listen->sockport . "\n" if $place eq "tcp";
my $c = $listen->accept or die "accept: $!";
my $in = "";

sub gone { print "gone\n"; exit 0; }
sub need { while (length $in < $_[0]) { sysread($c, $in, 65536, length $in) or gone(); } }
sub take { need($_[0]); return substr($in, 0, $_[0], ""); }
sub put { my $b = shift; while (length $b) { my $n = syswrite($c, $b) or gone(); substr($b, 0, $n, ""); } }

sub frame {
	my ($op, $b) = @_;
	my $n = length $b;
	return pack("C", 0x80 | $op) . ($n < 126 ? pack("C", $n) : $n < 65536 ? pack("Cn", 126, $n) : pack("CQ>", 127, $n)) . $b;
}

sysread($c, $in, 4096, length $in) or gone() until $in =~ /\r\n\r\n/;
$in =~ s/^(.*?)\r\n\r\n//s or gone();
my @head = split /\r\n/, $1;
print "$_\n" for @head;
my ($key) = map { /^Sec-WebSocket-Key: (.*)/ ? $1 : () } @head;
if ($how eq "refuse") {
	put("HTTP/1.1 401 Unauthorized\r\nContent-Length: 12\r\n\r\nUnauthorized");
	exit 0;
}
$key = "x" if $how eq "lie";
my $accept = encode_base64(sha1($key . "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"), "");
put("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept:  $accept \r\n\r\n" .
    ($how eq "early" ? frame(9, "ping") . frame(1, '{"early": true}') : ""));
my $message = "";
while (1) {
	my ($first, $second) = unpack "CC", take(2);
	my $n = $second & 127;
	$n = unpack "n", take(2) if $n == 126;
	$n = unpack "Q>", take(8) if $n == 127;
	print "unmasked\n" unless $second & 128;
	my $mask = take(4);
	my $b = take($n);
	$b ^= substr($mask x ($n / 4 + 1), 0, $n);
	if (($first & 15) == 8) {
		print "close " . unpack("n", $b) . " " . substr($b, 2) . "\n";
		put(frame(8, $b));
		exit 0;
	}
	print "pong $b\n" if ($first & 15) == 10;
	next if ($first & 15) > 2;
	$message .= $b;
	next unless $first & 128;
	print "text " . length($message) . " " . md5_hex($message) . "\n";
	exit 0 if $how eq "drop";
	put(frame(8, pack("n", 1001) . "Box runtime shutting down")) if $how eq "leave";
	if ($how eq "flood") {
		put(frame(1, sprintf('{"n": %d, "x": "%s"}', $_, "y" x 100000))) for 1 .. 200;
		$how = "echo";
	} elsif ($how ne "leave") {
		put(frame(1, $message));
	}
	$message = "";
}
