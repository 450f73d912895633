#!/usr/bin/perl
# A client of the native protocol for tests, without libraries:
#
#	rpc.pl SOCKET METHOD '{"field": value}'     one call: prints the result as JSON, or the
#	                                            error as "code: message" and exits 1
#	rpc.pl SOCKET < lines                       each line "METHOD JSON"; a line of answer for each
#	rpc.pl SOCKET --attach JSON < orders        a process_attach: its bytes to stdout, what else happens to stderr;
#	                                            orders: "until OFFSET" came, "ack OFFSET", "end" of it; then it leaves
#	rpc.pl SOCKET --at-once N ANSWERS METHOD JSON
#	                                            sends the call N times, prints so many answers, and leaves
#
# In a call "$(N)" is a string of N bytes; handles and such can be passed from one line to the
# next with "@field", the last answer's field of that name.  Strings are bytes.
use strict;
use warnings;
use IO::Socket::UNIX;
use JSON::PP;

my $json = JSON::PP->new->canonical->latin1->allow_nonref;
my $sock = IO::Socket::UNIX->new(Peer => shift @ARGV) or die "connect: $!\n";
my ($in, $id, %last) = ("", 0);
$| = 1;

sub pack_value {
	my ($v) = @_;
	return pack("C", 0xc0) unless defined $v;
	if (ref $v eq "HASH") {
		return pack("Cn", 0xde, scalar keys %$v) . join "", map { pack_value($_) . pack_value($v->{$_}) } sort keys %$v;
	}
	return pack("Cn", 0xdc, scalar @$v) . join "", map { pack_value($_) } @$v if ref $v eq "ARRAY";
	return pack("C", $v ? 0xc3 : 0xc2) if JSON::PP::is_bool($v);
	return pack("CQ>", 0xcf, $v) if $v =~ /^(0|[1-9][0-9]*)$/ && !utf8::is_utf8($v) && $json->encode($v) !~ /"/;
	return pack("CN", 0xdb, length $v) . $v;
}

sub need {
	my ($n) = @_;
	while (length $in < $n) {
		sysread($sock, $in, 1 << 20, length $in) or die "boxd closed the connection\n";
	}
}

sub take { need($_[0]); return substr($in, 0, $_[0], ""); }

sub unpack_value {
	my $t = unpack "C", take(1);
	return $t if $t < 0x80;
	return { map { unpack_value() } 1 .. 2 * ($t & 15) } if $t < 0x90;
	return [ map { unpack_value() } 1 .. ($t & 15) ] if $t < 0xa0;
	return take($t & 31) if $t < 0xc0;
	return undef if $t == 0xc0;
	return $t == 0xc3 ? JSON::PP::true : JSON::PP::false if $t == 0xc2 || $t == 0xc3;
	return take(unpack "C", take(1)) if $t == 0xc4 || $t == 0xd9;
	return take(unpack "n", take(2)) if $t == 0xc5 || $t == 0xda;
	return take(unpack "N", take(4)) if $t == 0xc6 || $t == 0xdb;
	return unpack "d>", take(8) if $t == 0xcb;
	return unpack "C", take(1) if $t == 0xcc;
	return unpack "n", take(2) if $t == 0xcd;
	return unpack "N", take(4) if $t == 0xce;
	return unpack "Q>", take(8) if $t == 0xcf;
	return unpack "c", take(1) if $t == 0xd0;
	return unpack "q>", take(8) if $t == 0xd3;
	return [ map { unpack_value() } 1 .. unpack "n", take(2) ] if $t == 0xdc;
	return [ map { unpack_value() } 1 .. unpack "N", take(4) ] if $t == 0xdd;
	return { map { unpack_value() } 1 .. 2 * unpack "n", take(2) } if $t == 0xde;
	return $t - 256 if $t >= 0xe0;
	die sprintf "MessagePack type %02x\n", $t;
}

sub call {
	my ($method, $params) = @_;
	syswrite $sock, "\x94\x00" . pack_value(++$id) . pack_value($method) . pack_value($params) or die "send: $!\n";
	while (1) {
		my $m = unpack_value();
		return ($m->[2], $m->[3]) if $m->[0] == 1 && $m->[1] == $id;
	}
}

sub one {
	my ($method, $text) = @_;
	my $params = $json->decode($text || "{}");
	for my $v (values %$params) {
		next if ref $v || !defined $v;
		$v = "x" x $1 if $v =~ /^\$\((\d+)\)$/;
		$v = $last{$1} if $v =~ /^@(\w+)$/;
	}
	my ($error, $result) = call($method, $params);
	%last = (%last, %$result) if ref $result eq "HASH";
	print $error ? "$error->{code}: $error->{message}\n" : $json->encode($result) . "\n";
	return !$error;
}

# ---- process_attach, whose answer is its end ----

my ($attach, $came, $ended) = (0, undef, undef);

# One more message: output is passed on, the attachment's answer kept.
sub hear {
	my $m = unpack_value();
	if ($m->[0] == 2 && $m->[1] eq "output") {
		my $o = $m->[2];
		print STDERR "from $o->{offset}\n" unless defined $came;
		$came = $o->{offset} + length $o->{data};
		print $o->{data};
	} elsif ($m->[0] == 1 && $m->[1] == $attach) {
		$ended = $m->[2] ? "$m->[2]{code}: $m->[2]{message}" : "ended: $m->[3]{state}";
	}
	return $m;
}

sub attach {
	my ($text) = @_;
	$attach = ++$id;
	syswrite $sock, "\x94\x00" . pack_value($id) . pack_value("process_attach") . pack_value($json->decode($text));
	while (my $order = <STDIN>) {
		my ($what, $n) = split " ", $order;
		if ($what eq "until") {
			hear() while !defined $ended && (!defined $came || $came < $n);
		} elsif ($what eq "ack") {
			syswrite $sock, "\x93\x02" . pack_value("output_ack") .
			    pack_value({ call => $attach, stream => "stdout", offset => 0 + $n });
		} elsif ($what eq "end") {
			hear() while !defined $ended;
			print STDERR "$ended\n";
		}
	}
	# boxd has taken all we said before we leave
	syswrite $sock, "\x94\x00" . pack_value(++$id) . pack_value("ping") . pack_value({});
	while (1) {
		my $m = hear();
		last if $m->[0] == 1 && $m->[1] == $id;
	}
}

# ---- many calls at once ----

sub at_once {
	my ($n, $answers, $method, $text) = @_;
	my $params = pack_value($json->decode($text));
	for (1 .. $n) {
		syswrite $sock, "\x94\x00" . pack_value(++$id) . pack_value($method) . $params or die "send: $!\n";
	}
	while ($answers > 0) {
		my $m = unpack_value();
		next if $m->[0] != 1;
		print $m->[2] ? "$m->[2]{code}: $m->[2]{message}\n" : $json->encode($m->[3]) . "\n";
		$answers--;
	}
}

if (@ARGV && $ARGV[0] eq "--at-once") {
	at_once(@ARGV[1 .. 4]);
	exit 0;
}
if (@ARGV && $ARGV[0] eq "--attach") {
	attach($ARGV[1]);
	exit 0;
}
if (@ARGV) {
	exit(one(@ARGV) ? 0 : 1);
}
while (my $line = <STDIN>) {
	chomp $line;
	one(split / /, $line, 2);
}
