# A client of LangBot's door that has read the source: HTTP byte by byte, WebSocket frames as it likes them, and actions.
#
#	perl -It/lib/sh -MHostile -e '...' ADDRESS TOKEN
#
# $at and $token are the first two arguments.  What a function waits for it waits for without a clock; whoever calls
# wraps it all in a timeout.
package Hostile;
use strict;
use warnings;
use Exporter "import";
use IO::Socket::INET;
use IO::Select;

our @EXPORT = qw($at $token dial put heard raw hello socket_at rpc frame text next_frame ask answer rss said);
our ($at, $token) = splice @ARGV, 0, 2;
$SIG{PIPE} = "IGNORE";
$| = 1;
my $seq = 0;
my %rest; # what has come of a socket and was not looked at yet

sub dial { my $c = IO::Socket::INET->new(PeerAddr => $at) or die "dial: $!"; $rest{$c} = ""; return $c; }

# Everything goes out, or the peer has had enough.
sub put {
	my ($c, $b) = @_;
	for (my $i = 0; $i < length $b;) { my $n = syswrite $c, $b, 65536, $i or return 0; $i += $n; }
	return 1;
}

# All that comes until the end.
sub heard { my $c = shift; my $b = delete $rest{$c} // ""; 1 while sysread $c, $b, 65536, length $b; return $b; }

# The status of the answer to these bytes, or "" for an end without a word.
sub raw { my $c = dial(); put($c, $_[0]); my $a = heard($c); return $a =~ m{^HTTP/1.1 (\d+) } ? $1 : $a eq "" ? "" : "?$a"; }

sub hello {
	my ($path, %h) = @_;
	my %all = (Host => "127.0.0.1", Upgrade => "websocket", Connection => "Upgrade", "Sec-WebSocket-Version" => 13,
	    "Sec-WebSocket-Key" => "dGhlIHNhbXBsZSBub25jZQ==", "X-LangBot-Instance-Id" => "inst-1",
	    "X-LangBot-Box-Control-Token" => $token, %h);
	return "GET $path HTTP/1.1\r\n" . join("", map { defined $all{$_} ? "$_: $all{$_}\r\n" : "" } sort keys %all) . "\r\n";
}

# A WebSocket, or the answer when it is none.
sub socket_at {
	my $c = dial();
	put($c, hello(@_));
	until ($rest{$c} =~ /\r\n\r\n/) { sysread $c, $rest{$c}, 65536, length $rest{$c} or return $rest{$c}; }
	return $rest{$c} . heard($c) unless $rest{$c} =~ m{^HTTP/1.1 101 };
	$rest{$c} =~ s/^.*?\r\n\r\n//s;
	return $c;
}
sub rpc { my $c = socket_at("/rpc/ws"); die "no WebSocket: $c" unless ref $c; return $c; }

sub frame {
	my ($first, $b) = @_;
	my $n = length $b; # the mask is 0: it hides nothing here
	return pack("C", $first) . ($n < 126 ? pack("C", 128 | $n) : $n < 65536 ? pack("Cn", 254, $n) : pack("CQ>", 255, $n)) . "\0\0\0\0" . $b;
}
sub text { return put($_[0], frame(0x81, $_[1])); }

sub need {
	my ($c, $n) = @_;
	while (length $rest{$c} < $n) { sysread $c, $rest{$c}, 65536, length $rest{$c} or return 0; }
	return 1;
}

# (opcode, bytes) of the next frame that is no ping, or () at the end.
sub next_frame {
	my $c = shift;
	need($c, 2) or return;
	my ($first, $n) = unpack "CC", substr $rest{$c}, 0, 2, "";
	if ($n == 126) { need($c, 2) or return; $n = unpack "n", substr $rest{$c}, 0, 2, ""; }
	elsif ($n == 127) { need($c, 8) or return; $n = unpack "Q>", substr $rest{$c}, 0, 8, ""; }
	need($c, $n) or return;
	my $b = substr $rest{$c}, 0, $n, "";
	return ($first & 15) == 9 ? next_frame($c) : ($first & 15, $b);
}

# "close 1009 too big" or the text; "gone" at the end.
sub said {
	my ($op, $b) = next_frame($_[0]);
	return "gone" unless defined $op;
	return $op == 8 ? "close " . unpack("n", $b) . " " . substr($b, 2) : $b;
}

# An action with these members of the envelope; its seq_id.
sub ask { my ($c, $action, $data, $context) = @_; $seq++; text($c, qq({"seq_id": $seq, "action": "$action", "data": $data) . ($context ? qq(, "context": $context) : "") . "}"); return $seq; }
sub answer {
	my $c = shift;
	ask($c, @_);
	my ($op, $b) = next_frame($c);
	return defined $op ? $b : "gone";
}

sub rss { open my $f, "<", "/proc/$_[0]/status" or return 0; my ($n) = join("", <$f>) =~ /VmRSS:\s+(\d+)/; return $n; }

1;
