#!/bin/sh
# Messages that are made to cost much: the gateway and boxd keep within their bounds, and a client beside it is served.
. t/lib/sh/hostile.sh
http_start
grep -qa __asan_init "$BUILD/box-gateway" && sanitized=1
mib=16
within() { # what pid KiB
	if [ -n "$sanitized" ]; then skip 1 "a sanitizer keeps what was freed"; return; fi
	small() { [ "$(awk '/VmRSS/ { print $2 }' "/proc/$1/status")" -lt "$2" ]; }
	eventually small "$2" "$3"
	ok "$1" || diag "$(grep VmRSS "/proc/$2/status")"
}
# after each attack a new client and an old one are answered
cat >"$D/lib.pl" <<'P'
our $A = q({"instance_uuid": "inst-1", "workspace_uuid": "ws-a", "placement_generation": 1});
our $beside = rpc();
sub lives { my $n = rpc(); return answer($beside, "__ping", "{}") =~ /"code": 0/ && answer($n, "__ping", "{}") =~ /"code": 0/ ? "lives" : "dead" }
sub why { my ($m) = $_[0] =~ /"message": "((?:[^"\\]|\\.)*)"/; return $m // $_[0] }
sub try { my ($data) = @_; my $c = rpc(); text($c, $data); my $s = said($c); return (length $s > 300 ? "long" : why($s)) . "; " . lives() . "\n" }
1;
P
h() { _p=$1; shift; hostile "require q($D/lib.pl); our (\$A, \$beside); $_p" "$@"; }

out=$(h 'my $c = rpc(); text($c, "[" x ('$mib' * 1024 * 1024 - 100)); text($c, q({"seq_id": 2, "action": "__ping", "data": {}})); print said($c) =~ /"seq_id": 2/, lives()')
is "$out" "1lives" "$mib MiB of brackets are no message, and not the end"
out=$(h 'print try(q({"seq_id": 1, "action": "__ping", "data": ) . "[" x ('$mib' * 437_500) . "]" x ('$mib' * 437_500) . "}")')
like "$out" 'nested deeper than 64 levels; lives' "nor when all of them are closed"
out=$(h 'print try(q({"seq_id": 1, "action": "__ping", "data": {) . join(",", map { qq("k$_":0) } 1 .. 1_100_000) . "}}")')
like "$out" 'more than 1048576 values; lives' "a million keys"
out=$(h 'print try(q({"seq_id": 1, "action": "__ping", "data": {"a": 1e9999}}))')
like "$out" 'no double holds.*lives' "1e9999"
out=$(h 'print try(q({"seq_id": 1, "action": "__ping", "action": "box_shutdown", "data": {}}))')
like "$out" "the key 'action' twice; lives" "two actions in one"
out=$(h 'print try(qq({"seq_id": 1, "action": "__ping", "data": {"a": "\\ud800"}}))')
like "$out" 'half a surrogate pair; lives' "half a character"
out=$(h 'print try(q({"seq_id": 1, "action": "box_get_session", "data": {"session_id": ") . "\\u0001" x 2_000_000 . qq("}, "context": $A}))')
like "$out" '; lives' "megabytes of escapes"
out=$(h 'print try(q({"seq_id": ) . "9" x 10_000_000 . q(, "action": "__ping", "data": {}}))')
like "$out" '; lives' "a number of ten million digits"
out=$(h 'my $c = rpc(); put($c, frame(0x01, "") . frame(0x00, "") x 5000); my $s = said($c); print "$s; ", lives()')
is "$out" "close 1009 a message must have at most 4096 fragments; lives" "empty fragments for ever"
out=$(h 'my $c = rpc(); put($c, frame(0x89, "x" x 125) x 20000 . frame(0x81, q({"seq_id": 3, "action": "__ping", "data": {}}))); my $s; do { my ($op, $b) = next_frame($c); $s = defined $op ? $op == 1 ? $b : undef : "gone" } until defined $s; print $s =~ /"seq_id": 3/, lives()')
is "$out" 1lives "twenty thousand pings, all of them answered"
within "and nothing of all that is kept" "$GATEWAY" 131072

# ---- who never reads ----
out=$(h '
	answer($beside, "box_exec", q({"session_id": "s", "cmd": "true", "workdir": "/tmp"}), $A);
	my @deaf = map { rpc() } 1 .. 3;
	for my $c (@deaf) { ask($c, "box_exec", q({"session_id": "s", "cmd": "head -c 1000000 /dev/zero | tr \\\\0 x", "workdir": "/tmp"}), $A) for 1 .. 100; }
	my $good = grep { answer($beside, "box_exec", q({"session_id": "t", "cmd": "echo hi", "workdir": "/tmp"}), $A) =~ /hi/ } 1 .. 5;
	my $most = 0;
	for (1 .. 20) { my $n = rss($ARGV[0]); $most = $n if $n > $most; lives(); }
	print "$good ", $most < 300 * 1024 ? "bounded" : "$most KiB"' "$GATEWAY")
[ -n "$sanitized" ] && out=${out%% *}' bounded'
is "$out" "5 bounded" "three clients with a hundred replies each that they do not read"
within "the gateway's memory comes back" "$GATEWAY" 131072
within "boxd has kept none of it" "$BOXD_PID" 131072

# ---- messages that never end ----
out=$(h '
	my (@c, $told);
	for my $i (1 .. 22) { push @c, rpc(); put($c[-1], pack("CCQ>N", 0x81, 255, 16_000_000, 0)); my $b = "x" x 1_000_000; for (1 .. 15) { put($c[-1], $b) or last } lives() eq "lives" or print "dead "; }
	for my $s (@c) { IO::Select->new($s)->can_read(0) and said($s) =~ /^close 1013 too many large messages/ and $told++; }
	my $n = rss($ARGV[0]);
	print $told ? "some are told; " : "none is told; ", $n < 400 * 1024 ? "bounded" : "$n KiB", " ", lives()' "$GATEWAY")
[ -n "$sanitized" ] && out="some are told; bounded ${out##* }"
is "$out" "some are told; bounded lives" "more than so much of messages that have not ended is not kept"
within "and it comes back" "$GATEWAY" 131072

# ---- uploads ----
cat >>"$D/lib.pl" <<'P'
sub chunk { my ($c, $key, $i, $of, $n) = @_; return answer($c, "__file_chunk", sprintf q({"file_key": "%s", "chunk_index": %d, "chunk_amount": %d, "chunk_base64": "%s"}), $key, $i, $of, "A" x ($n // 4)) }
P
out=$(h 'my $c = rpc(); my @r = map { chunk($c, "k$_", 0, 2) =~ /"code": 0/ ? 1 : 0 } 1 .. 129; print scalar(grep { $_ } @r), " ", why(chunk($c, "more", 0, 2)), "; ", lives()')
is "$out" "128 ValueError: Active file transfer capacity reached; lives" "129 uploads of one connection"
fds() { ls "/proc/$GATEWAY/fd" | wc -l; }
before=$(fds)
out=$(h '
	my ($n, @c) = (0);
	for my $i (1 .. 12) { push @c, rpc(); for (1 .. 120) { ask($c[-1], "__file_chunk", qq({"file_key": "k$_", "chunk_index": 0, "chunk_amount": 2, "chunk_base64": "AAAA"})); } for (1 .. 120) { $n++ if said($c[-1]) =~ /"code": 0/; } }
	opendir my $d, "/proc/$ARGV[0]/fd"; my $fds = () = readdir $d;
	print $n <= 1024 ? "bounded" : $n, " ", $fds < 1200 ? "bounded" : $fds, " ", lives()' "$GATEWAY")
is "$out" "bounded bounded lives" "uploads of all connections together take so many descriptors and no more"
gone() { [ "$(fds)" -le "$((before + 2))" ]; }
eventually gone
ok "and who leaves takes them along"
same_gateway
done_testing
