#!/bin/sh
# boxctl langbot-stdio: lines and chunks of LangBot on one side, a WebSocket on the other; both ends, and each one's end.
. t/lib/sh/boxd.sh
unset LANGBOT_BOX_CONTROL_TOKEN LANGBOT_BOX_TRUSTED_INSTANCE_UUID
mkfifo "$D/in"

peer() { # how [tcp]
	rm -f "$D/sock" "$D/events"
	perl t/lib/sh/wspeer.pl "${2:-$D/sock}" "$1" >"$D/events" 2>"$D/peer.err" & PEER=$!
	if [ -n "$2" ]; then eventually grep -q '^port' "$D/events"; else eventually test -S "$D/sock"; fi
}
bridge() { timeout -k 5 60 "$BUILD/boxctl" --socket "$D/sock" langbot-stdio "$@"; }
sanitized() { grep -qa __asan_init "$BUILD/boxctl"; }
event() { grep -c -- "^$1\$" "$D/events"; }

# who we are
bridge </dev/null 2>"$D/err"
is $? 1 "without an instance there is no bridge"
is "$(cat "$D/err")" "boxctl: LANGBOT_BOX_TRUSTED_INSTANCE_UUID is required for stdio Box control" "in upstream's words"
LANGBOT_BOX_TRUSTED_INSTANCE_UUID='-bad' bridge </dev/null 2>"$D/err"
is "$(cat "$D/err")" "boxctl: A valid trusted LangBot instance UUID is required" "nor with one that cannot be"
export LANGBOT_BOX_TRUSTED_INSTANCE_UUID=' 6f1c.inst:1 '
LANGBOT_BOX_CONTROL_TOKEN=short bridge </dev/null 2>"$D/err"
is "$(cat "$D/err")" "boxctl: LANGBOT_BOX_CONTROL_TOKEN must be a non-whitespace secret of at least 32 characters" "nor with a secret that is none"
bridge </dev/null 2>"$D/err"
is $? 1 "without a daemon neither"
like "$(cat "$D/err")" "cannot reach boxd at $D/sock: No such file" "and it says where it looked"

# a message and the end
peer echo
printf 'a log line\n{"a": 1}\n\n{"b": "\303\244"}' | bridge >"$D/out" 2>"$D/err"
is $? 0 "the end of our input is an orderly end"
wait $PEER
is "$(cat "$D/out")" '{"a": 1}
{"b": "ä"}' "each message came back, and nothing else is on standard output"
is "$(cat "$D/err")" "" "nor is there anything to say"
is "$(sed -n 1p "$D/events")" "GET /rpc/ws HTTP/1.1" "it asks for the control path"
is "$(event 'Host: localhost') $(event 'X-LangBot-Instance-Id: 6f1c.inst:1') $(event 'X-LangBot-Box-Control-Token.*')" "1 1 0" "with its instance, and no token when there is none"
is "$(event 'text 8 .*') $(event 'text 11 .*') $(event 'text.*')" "1 1 2" "two messages came, the last without its newline"
is "$(event 'close 1000 ')" 1 "and a close of 1000"
is "$(event unmasked)" 0 "every frame is masked"

# over TCP, with a token
peer echo tcp
port=$(sed -n 's/^port //p' "$D/events")
echo '{"a": 1}' | LANGBOT_BOX_CONTROL_TOKEN=" 0123456789abcdef0123456789abcdef " bridge --url "ws://127.0.0.1:$port" >"$D/out" 2>"$D/err"
is "$?$(cat "$D/out")" '0{"a": 1}' "over TCP it is the same"
wait $PEER
is "$(event 'X-LangBot-Box-Control-Token: 0123456789abcdef0123456789abcdef') $(event 'Host: 127.0.0.1')" "1 1" "a token goes along, stripped"
for url in http://x ws:// ws://:5 ws://a:b 'ws://[::1'; do bridge --url "$url" </dev/null 2>>"$D/urls"; done
is "$(grep -c 'boxctl: --url: ' "$D/urls")" 5 "addresses that are none are refused"

# chunks both ways
peer echo
python3 - >"$D/big" <<'PY'
import json
text = json.dumps({"seq_id": 1, "data": ("\u00e4\u20ac\U0001f600\"\\\n" * 100000)}, ensure_ascii=False)
raw = text.encode()
print(json.dumps({"type": "chunk_start", "total_size": len(raw)}))
at = 0
while at < len(text):
    part = text[at:at + 4000]
    print(json.dumps({"type": "chunk_data", "data": part, "offset": len(text[:at].encode())}))
    at += 4000
    print("a log line in between")
print(json.dumps({"type": "chunk_end"}))
PY
bridge <"$D/big" >"$D/out" 2>"$D/err"
is $? 0 "a message of a megabyte goes in chunks"
wait $PEER
python3 - "$D/out" <<'PY'
import json, sys
lines = open(sys.argv[1], "rb").read().splitlines()
assert max(map(len, lines)) < 65536
objs = [json.loads(l) for l in lines]
assert objs[0]["type"] == "chunk_start" and objs[-1]["type"] == "chunk_end"
got = b""
for o in objs[1:-1]:
    assert o["type"] == "chunk_data" and o["offset"] == len(got) and len(o["data"].encode()) <= 16384
    got += o["data"].encode()
assert len(got) == objs[0]["total_size"]
assert json.loads(got)["data"] == "\u00e4\u20ac\U0001f600\"\\\n" * 100000
PY
ok "and comes back in chunks, whole"

# what is broken
for bad in '{"type": "chunk_start", "total_size": 99999999}' '{"type": "chunk_start", "total_size": 5}
{"type": "chunk_data", "data": "x", "offset": 3}'; do
	peer echo
	printf '%s\n' "$bad" | bridge >"$D/out" 2>"$D/err"
	is $? 1 "a broken rule is an end"
	like "$(cat "$D/err")" 'boxctl: Invalid runtime chunk' "with its reason"
	wait $PEER
	is "$(event 'text.*')" 0 "and no message"
done
peer echo
head -c 70000 /dev/zero | tr '\0' x | bridge >/dev/null 2>"$D/err"
is "$?$(cat "$D/err")" "1boxctl: a line is longer than 65536 bytes" "so is a line that is too long"
wait $PEER

# the daemon refuses, lies, goes
peer refuse
bridge </dev/null 2>"$D/err"
is "$?$(cat "$D/err")" "1boxctl: boxd refused: HTTP/1.1 401 Unauthorized: Unauthorized" "a refusal is told"
peer lie
bridge </dev/null 2>"$D/err"
like "$?$(cat "$D/err")" '^1boxctl: the server is not boxd' "a wrong handshake is none"
for how in drop leave; do
	peer $how
	exec 8<>"$D/in"
	echo '{"a": 1}' >&8
	bridge <"$D/in" >/dev/null 2>"$D/err"
	code=$?
	exec 8>&-
	wait $PEER
	if [ $how = drop ]; then
		is "$code$(cat "$D/err")" "1boxctl: boxd is gone" "when the daemon is gone, so are we"
	else
		is "$code$(cat "$D/err")" "1boxctl: boxd closed the connection: 1001 Box runtime shutting down" "and its last words are told"
	fi
done

# a message that comes with the handshake
peer early
exec 8<>"$D/in"
"$BUILD/boxctl" --socket "$D/sock" langbot-stdio <"$D/in" >"$D/out" 2>/dev/null & b=$!
eventually grep -q early "$D/out"
ok "a message right behind the handshake is not lost"
eventually grep -q '^pong ping' "$D/events"
ok "and a ping is answered"
kill $b
wait $b
exec 8>&-
wait $PEER

# whoever does not read is waited for, and our memory stays small
peer flood
mkfifo "$D/slow"
exec 8<>"$D/in"
echo '{"go": 1}' >&8
"$BUILD/boxctl" --socket "$D/sock" langbot-stdio <"$D/in" >"$D/slow" 2>"$D/err" & b=$!
exec 7<"$D/slow"
paused() { grep -q '^text' "$D/events" && s1=$(awk '/VmRSS/ { print $2 }' /proc/$b/status) && sleep 0.3 && [ "$s1" = "$(awk '/VmRSS/ { print $2 }' /proc/$b/status)" ]; }
eventually paused
rss=$(awk '/VmRSS/ { print $2 }' /proc/$b/status)
if sanitized; then
	skip 1 "a sanitizer does not give freed memory back"
else
	[ "$rss" -lt 16384 ]
	ok "20 MB for a reader that sleeps are not held here ($rss kB)"
fi
(grep -c chunk_end <&7 >"$D/count") & reader=$!
exec 7<&-
counted() { [ "$(event 'text.*')" -ge 1 ]; }
eventually counted
echo '{"bye": 1}' >&8
all() { [ "$(event 'text.*')" -ge 2 ]; }
eventually all
kill $b
wait $b 2>/dev/null
exec 8>&-
wait $reader
is "$(cat "$D/count")" 200 "and all arrive when it wakes"
wait $PEER
done_testing
