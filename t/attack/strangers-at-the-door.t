#!/bin/sh
# Who has no token, or lies about where it comes from, gets nothing from LangBot's door and takes nothing from who has one.
. t/lib/sh/hostile.sh
http_start 'max_unauthenticated = 16'

# ---- a working client among those who never finish a sentence ----
is "$(hostile '
	my $works = rpc();
	my @slow;
	for (1 .. 16) { push @slow, dial(); put($slow[-1], $_ % 2 ? "GET /rpc/ws HTTP/1.1\r\nHost: " : ""); }
	my $good = grep { answer($works, "box_health", "{}") =~ /"code": 0/ } 1 .. 50;
	my $late = rpc();
	my $refused = heard($slow[0]) =~ m{^HTTP/1.1 503 .*another client needed this place}s;
	print join " ", $good, $refused, answer($late, "box_health", "{}") =~ /"code": 0/')" "50 1 1" \
	"all places taken by slow ones: who is in works on, and the oldest of them makes room for the next"

# ---- one request, one reading ----
two() { # name expected bytes
	is "$(hostile "print raw(qq($3))")" "$2" "$1"
}
H='GET /rpc/ws HTTP/1.1\r\nHost: 127.0.0.1\r\n'
two "a header that goes on in the next line" 400 "${H}X-LangBot-Instance-Id: a\r\n b\r\n\r\n"
is "$(hostile 'my $c = socket_at("/rpc/ws", "X-LangBot-Box-Control-Token" => "\r\n $token"); print ref $c ? 101 : $c =~ m{^HTTP/1.1 (\d+)}')" 400 "one that begins in the next line, though it is the token"
two "the same with a tab, for a header nobody reads" 400 "${H}X-Other: a\r\n\tTransfer-Encoding: chunked\r\n\r\n"
two "the preface of HTTP/2" 400 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
two "a request smuggled behind the last" 400 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\nGET /rpc/ws HTTP/1.1\r\n\r\n'
is "$(hostile 'my $c = dial(); put($c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" . hello("/rpc/ws", "X-LangBot-Box-Control-Token" => "guess")); print join " ", heard($c) =~ m{HTTP/1.1 (\d+) }g')" \
	"200 401" "a request behind a probe is judged like the first"
is "$(hostile 'my $c = dial(); put($c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /readyz HTTP/1.1\r\nHost: evil.example\r\n\r\n"); print join " ", heard($c) =~ m{HTTP/1.1 (\d+) }g')" \
	"200 421" "and so is its Host"
two "chunked in another spelling" 413 "${H}Transfer-Encoding: xchunked\r\n\r\n"
two "both lengths" 400 "${H}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
two "a carriage return in a value" 400 "${H}X-LangBot-Instance-Id: inst-1\rX-LangBot-Workspace-Id: x\r\n\r\n"
for host in 127.0.0.1. localhost. user@127.0.0.1 127.1 0x7f000001 2130706433 'evil.example#@127.0.0.1' '127.0.0.1,evil' '[::ffff:127.0.0.1' '127.0.0.1:99999999'; do
	is "$(hostile 'print raw("GET /healthz HTTP/1.1\r\nHost: $ARGV[0]\r\n\r\n")' "$host")" 421 "Host: $host"
done
for origin in null http://127.0.0.1 HTTP://LOCALHOST file:// '' 'https://a, https://b'; do
	like "$(hostile 'print raw(hello("/rpc/ws", Origin => $ARGV[0]))' "$origin")" '^403$' "Origin: '$origin', though the token is right"
done

# ---- not without the token, whatever else is said ----
# all at once, for each waits longer than the one before
is "$(hostile '
	my $ping = frame(0x81, q({"seq_id": 1, "action": "__ping", "data": {}})) x 2000;
	my @all = map { hello("/rpc/ws", "X-LangBot-Box-Control-Token" => $_) } "", " ", "x", "guess-" . "x" x 40, $token . $token, uc $token,
	    substr($token, 1), substr($token, 0, -1), "Bearer $token", "$token,$token", "$token\t.", "a" x 5000;
	push @all, hello("/rpc/ws?X-LangBot-Box-Control-Token=$token", "X-LangBot-Box-Control-Token" => undef),
	    hello("/rpc/ws", "X-LangBot-Instance-Id" => "other"), hello("/rpc/ws", "X-LangBot-Box-Control-Token" => "wrong") . $ping;
	my @asked = map { my $c = dial(); put($c, $_); $c } @all;
	my @heard = map { heard($_) } @asked;
	print scalar(grep { m{^HTTP/1.1 401 } && !/seq_id/ } @heard), " of ", scalar @all')" "15 of 15" \
	"what is almost the token, a token in the query, another instance, frames before the answer: all are refused"
is "$(hostile '
	my $c = dial();
	put($c, hello("/rpc/ws") . "\xff" x 100000);
	my $a = heard($c);
	print $a =~ m{^HTTP/1.1 101 }, " ", $a =~ /\x88.\x03\xea/s ? 1002 : "?"')" "1 1002" "garbage behind the upgrade is answered by a close"

said=$(cat "$D/log" "$D"/run/* 2>/dev/null | grep -acF -e "$TOKEN" -e guess-)
is "$said" 0 "neither the secret nor a guess is in the log"
seen=0
for p in $(_tree "$BOXD_PID" | sed 's/:.*//'); do
	cat "/proc/$p/environ" "/proc/$p/cmdline" 2>/dev/null | grep -qaF "$TOKEN" && seen=1
done
is "$seen" 0 "nor in any environment or command line"
is "$(awk '/Max core file size/ { print $5, $6 }' "/proc/$GATEWAY/limits")" "0 0" "the gateway leaves no core"
same_gateway
done_testing
