#!/bin/sh
# Where LangBot's door listens: told, taken by one only, the same after an upgrade and after a gateway's death.
. t/lib/sh/boxd.sh
address() { box status -o json | sed -n 's/.*"http_address": "\(.*\)".*/\1/p'; }
connects() { perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr => shift)' "$1"; }

boxd_start
is "$(address)" "" "listen = none: nothing listens"
[ ! -e "$D/state/keys" ]
ok "and no token is made for it"
boxd_stop

boxd_config 'listen = 127.0.0.1:0'
boxd_start
at=$(address)
like "$at" '^127\.0\.0\.1:[1-9][0-9]*$' "port 0: status tells the real one"
grep -q "LangBot's door is http://$at\$" "$D/log"
ok "so does the log"
connects "$at"
ok "it can be connected to"

# ---- a second boxd ----
printf 'listen = %s\n' "$at" >"$D/second.conf"
timeout -k 5 60 "$BUILD/boxd" -c "$D/second.conf" --state-dir "$D/s2" --runtime-dir "$D/r2" 2>"$D/err"
is $? 1 "the same address twice: exit 1"
like "$(cat "$D/err")" "listen = $at: Address already in use; another boxd or LangBot's own runtime\? set listen in boxd.conf" "and why"
[ ! -e "$D/r2/boxd.sock" ]
ok "no socket of it is left"
printf 'listen = 127.0.0.1:0\nuid_base = 2000000000\n' >"$D/second.conf"
"$BUILD/boxd" -c "$D/second.conf" --state-dir "$D/s2" --runtime-dir "$D/r2" 2>"$D/log2" &
second=$!
up() { "$BUILD/boxctl" --socket "$D/r2/boxd.sock" ping >/dev/null 2>&1; }
eventually up
ok "port 0 twice: both run" || diag "$(cat "$D/log2")"
at2=$("$BUILD/boxctl" --socket "$D/r2/boxd.sock" status -o json | sed -n 's/.*"http_address": "\(.*\)".*/\1/p')
isnt "$at2" "$at" "on ports of their own"
kill "$second"; wait "$second"
is $? 0 "the second ends"

# ---- the listening socket outlives who serves it ----
gateway=$(pgrep -P "$BOXD_PID" -x box-gateway)
kill -9 "$gateway"
another() { _g=$(pgrep -P "$BOXD_PID" -x box-gateway) && [ "$_g" != "$gateway" ] && box ping >/dev/null 2>&1; }
connects "$at"
ok "the gateway is killed: nobody is refused meanwhile"
eventually another
is "$(address)" "$at" "the next serves the same address"

perl -MIO::Socket::INET -e '
	my ($at, $begun, $end) = @ARGV;
	until (-e $end) {
		IO::Socket::INET->new(PeerAddr => $at) or do { print "refused: $!\n"; exit 1 };
		open my $f, ">", $begun;
		select undef, undef, undef, 0.02;
	}
	print "all of them\n"' "$at" "$D/begun" "$D/end" >"$D/knocks" &
knocker=$!
eventually test -e "$D/begun"
kill -USR2 "$BOXD_PID"
anew() { [ "$(grep -c ' ready pid=' "$D/log")" = 3 ] && box ping >/dev/null 2>&1; }
eventually anew
touch "$D/end"
wait "$knocker"
is "$(cat "$D/knocks")" "all of them" "executed anew: not one connection was refused"
is "$(address)" "$at" "and the port that the kernel chose is the same"
grep -q "LangBot's door is http://$at, as before" "$D/log"
ok "because the socket was handed over"
inode=$(awk -v port=":$(printf %04X "${at##*:}")" '$4 == "0A" && $2 ~ port "$" { print $10 }' /proc/net/tcp)
has_it() { ls -l "/proc/$1/fd" | grep -qF "socket:[$inode]"; }
ok "boxd has it" has_it "$BOXD_PID"
worker=$(pgrep -P "$BOXD_PID" -x box-session | head -n 1)
[ -n "$worker" ] && ! has_it "$worker"
ok "a session's worker has not"
boxd_config 'listen = 127.0.0.2:0'
kill -USR2 "$BOXD_PID"
moved() { [ "$(grep -c ' ready pid=' "$D/log")" = 4 ] && box ping >/dev/null 2>&1; }
eventually moved
like "$(address)" '^127\.0\.0\.2:' "another address in the configuration is taken up"
! connects "$at" 2>/dev/null
ok "and the old one is closed"
done_testing
