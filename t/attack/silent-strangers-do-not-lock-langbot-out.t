#!/bin/sh
# Whoever fills all places pushes out itself: LangBot gets in, boxctl works, guesses are not answered early, the log stays small.
. t/lib/sh/hostile.sh
http_start

# ---- all places taken by clients that say nothing, or half a sentence ----
is "$(hostile '
	my @slow;
	for (1 .. 200) { push @slow, dial(); put($slow[-1], ("", "G", "GET /rpc/ws HTTP/1.1\r\nHost: ", "\x16\x03\x01\x02")[$_ % 4]); }
	my $in = grep { answer(rpc(), "box_health", "{}") =~ /"code": 0/ } 1 .. 20;
	my $said = heard($slow[0]);
	print $in, " ", $said =~ m{^HTTP/1.1 503 .*another client needed this place}s')" "20 1" \
	"LangBot gets in among 200 that never finish; the oldest made room, and was told so"

# ---- who is about to ask is not pushed out by a flood from another address ----
is "$(hostile '
	my $langbot = dial();
	my ($first, $rest) = hello("/rpc/ws") =~ /^(.{40})(.*)$/s;
	put($langbot, $first);
	my @flood;
	for (1 .. 500) {
		my $c = IO::Socket::INET->new(PeerAddr => $at, LocalAddr => "127.0.0.9") or die "dial: $!";
		push @flood, $c;
		shift @flood if @flood > 150;
	}
	put($langbot, $rest);
	sysread $langbot, my $b, 65536;
	print $b =~ m{^HTTP/1.1 (\d+)}')" 101 "one that is slow to ask is let in, though 500 came after it from another address"

# ---- a place is not lost to who was answered and does not leave ----
is "$(hostile '
	my @answered = map { my $c = dial(); put($c, "GET /no HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); $c } 1 .. 200;
	print answer(rpc(), "box_health", "{}") =~ /"code": 0/')" 1 "nor to 200 that have their answer and stay"

# ---- guesses ----
# The delays are 0.1, 0.2 ... 5 s: of 60 guesses all but six wait for 5 s.
is "$(hostile '
	my @guess = map { my $c = dial(); put($c, hello("/rpc/ws", "X-LangBot-Box-Control-Token" => "wrong-$_")); $c } 1 .. 60;
	my $works = answer(rpc(), "box_health", "{}") =~ /"code": 0/;
	my $early = () = IO::Select->new(@guess)->can_read(0);
	print $works, " ", $early <= 10 ? "few" : $early')" "1 few" "60 wrong tokens: the right one is let in at once, and they are not answered early"
is "$(hostile '
	my (@guess, $answered);
	for (1 .. 400) { push @guess, dial(); put($guess[-1], hello("/rpc/ws", "X-LangBot-Box-Control-Token" => "wrong-$_")); }
	my $works = answer(rpc(), "box_health", "{}") =~ /"code": 0/;
	my @over = IO::Select->new(@guess)->can_read(0);
	for (@over) { my $n = sysread $_, my $b, 64; $answered++ if $n && $b =~ m{^HTTP/1.1 401}; }
	print $works, " ", ($answered // 0) <= 10 ? "few" : $answered')" "1 few" \
	"400 wrong tokens: the right one is let in, and those that made room for it learned nothing"

# ---- one that is let in and pings for ever, reading nothing ----
limit=65536 # KiB
grep -qa __asan_init "$BUILD/box-gateway" && limit=1048576 # a sanitizer keeps what was freed
is "$(hostile '
	my $beside = rpc();
	my $child = fork // die; # or the parent would wait with it
	if (!$child) { my $c = rpc(); my $pings = frame(0x89, "x" x 125) x 1000; put($c, $pings) while 1; }
	my $good = grep { answer($beside, "box_health", "{}") =~ /"code": 0/ } 1 .. 200;
	my $small = rss($ARGV[0]) < $ARGV[1] || rss($ARGV[0]);
	kill KILL => $child;
	waitpid $child, 0;
	print "$good $small"' "$GATEWAY" "$limit")" "200 1" "a client beside it is served, and the gateway stays small"

# ---- the log ----
lines=$(grep -c 'refused\|needed' "$D/log")
ok_if() { [ "$1" "$2" "$3" ]; ok "$4"; }
ok_if "$lines" -lt 60 "over a thousand were refused: the log has $lines lines about it"
eventually grep -q 'more clients were refused: .*another client needed its place' "$D/log"
ok "one line counts those that made room"
eventually grep -q "more handshakes were refused at LangBot's door: .* wrong token" "$D/log"
ok "and one the wrong tokens"
same_gateway
boxd_stop

# ---- the control socket ----
native='
	use IO::Socket::UNIX;
	my $path = shift @ARGV;
	sub native { IO::Socket::UNIX->new(Peer => $path) or die "native: $!" }
	# [0, 1, "ping", {}]
	sub ping { my $c = shift; put($c, "\x94\x00\x01\xa4ping\x80"); sysread $c, my $b, 4096; return defined $b && $b =~ /^\x94\x01\x01\xc0/; }
	sub hold { print "ready\n"; $| = 1; <STDIN>; }
'
# Runs the perl, and the command while it holds its connections.
while_held() { # perl command...
	_perl=$1
	shift
	mkfifo "$D/go" "$D/held"
	hostile "$native$_perl hold()" "$D/run/boxd.sock" <"$D/go" >"$D/held" &
	_holder=$!
	exec 8>"$D/go" 9<"$D/held"
	read -r _ready <&9
	if [ "$_ready" = ready ]; then "$@"; else echo "not held: $_ready"; fi
	exec 8>&- 9<&-
	wait "$_holder"
	rm "$D/go" "$D/held"
}
knows() { box status -o json | field http_address; }
langbot() { hostile 'print answer(rpc(), "box_health", "{}") =~ /"code": 0/'; }

boxd_config 'max_connections = 32' 'max_unauthenticated = 32'
boxd_start
http_find
is "$(while_held 'my @all = map { dial() } 1 .. 100;' knows)" "$AT" "100 silent strangers: boxctl works, though they may have all connections"
is "$(while_held 'my @all = map { native() } 1 .. 100;' knows)" "$AT" "100 silent clients of the control socket: the next one is served"
is "$(while_held 'my @all = map { native() } 1 .. 100;' langbot)" 1 "and so is LangBot"
is "$(while_held 'my @all = map { my $c = native(); ping($c); $c } 1 .. 100;' langbot)" 1 "100 that have asked: LangBot's door has places of its own"
is "$(while_held 'my @all = map { socket_at("/rpc/ws") } 1 .. 100;' knows)" "$AT" "100 clients of LangBot: the control socket has places of its own"
same_gateway
boxd_stop

# ---- an ordinary user's boxd ----
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	skip 3 "this part changes users, which needs root and setpriv"
	done_testing
fi
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
BUILD=$D/bin
BOXD_WRAP='setpriv --reuid 65534 --regid 65534 --clear-groups'
chown -R 65534:65534 "$D"
boxd_start
http_find
is "$(while_held 'my @all = map { dial() } 1 .. 100;' langbot)" 1 "an ordinary user's boxd: LangBot gets in among 100 silent strangers"
is "$(while_held 'my @all = map { dial() } 1 .. 100;' knows)" "$AT" "boxctl works"
same_gateway
done_testing
