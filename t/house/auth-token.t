#!/bin/sh
# The token: made at the first start, found at the next, replaced when asked, and seen nowhere else.
. t/lib/sh/boxd.sh
boxd_config 'listen = 127.0.0.1:0' 'log_level = debug'
boxd_start
file=$D/state/keys/langbot.token
is "$(stat -c '%a %F' "$D/state/keys")" "700 directory" "the first start makes a directory for keys"
is "$(stat -c '%a %F %s' "$file")" "600 regular file 44" "and a token in it"
like "$(cat "$D/log")" "made a token for LangBot: $file; give it to LangBot as LANGBOT_BOX_CONTROL_TOKEN" "the log says where"
token=$(cat "$file")
is "$(box token)" "$token" "boxctl token prints it"
is "$(box token -o json | tr -d ' \n')" "{\"file\":\"$file\",\"token\":\"$token\"}" "with its file as JSON"
is "$(box status -o json | sed -n 's/.*"token_file": "\(.*\)".*/\1/p')" "$file" "status tells the file"

secret_of() { # what of boxd and its children could be read
	for _p in "$BOXD_PID" $(pgrep -P "$BOXD_PID"); do
		cat "/proc/$_p/environ" "/proc/$_p/cmdline"
	done 2>/dev/null
	cat "$D/log"
	box status
}
secret_of >"$D/seen"
ok "nothing else has it" sh -c '! grep -qaF -e "$1" "$2"' - "$token" "$D/seen"

boxd_stop
boxd_start
is "$(cat "$file")" "$token" "the next start uses it"
is "$(grep -c 'made a token' "$D/log")" 1 "and makes no other"
new=$(box token --new)
isnt "$new" "$token" "boxctl token --new prints another"
is "$(cat "$file") $(stat -c %a "$file")" "$new 600" "which is in the file now"
is "$(ls -A "$D/state/keys")" langbot.token "with nothing beside it"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$D/run"
	box_as() { timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@"; }
	box_as token >"$D/out" 2>&1
	isnt $? 0 "another user does not get it"
	ok "not even in the message" sh -c '! grep -qF -e "$1" "$2"' - "$new" "$D/out"
else
	skip 2 "needs root and setpriv"
fi
boxd_stop

# ---- by the environment ----
secret=environment-token-0123456789abcdefghijk
LANGBOT_BOX_CONTROL_TOKEN=$secret
LANGBOT_BOX_TRUSTED_INSTANCE_UUID=inst-env
export LANGBOT_BOX_CONTROL_TOKEN LANGBOT_BOX_TRUSTED_INSTANCE_UUID
boxd_start
unset LANGBOT_BOX_CONTROL_TOKEN LANGBOT_BOX_TRUSTED_INSTANCE_UUID
secret_of >"$D/seen"
ok "the environment's token is nowhere to be seen" sh -c '! grep -qaF -e "$1" "$2"' - "$secret" "$D/seen"
grep -qaF LANGBOT_BOX_TRUSTED_INSTANCE_UUID "$D/seen"
ok "though the environment was looked at"
box create --name s >/dev/null
is "$(box exec s -c 'env; cat /proc/*/environ 2>/dev/null | tr "\0" "\n"' | grep -ac LANGBOT)" 0 "no command sees a trace of it"
like "$(box token 2>&1)" 'no file with a token' "boxctl token says that there is no file"
like "$(box status)" 'trusted instance: +inst-env' "the instance is trusted from the start"
kill -USR2 "$BOXD_PID"
anew() { [ "$(grep -c 'info: boxd .* ready pid=' "$D/log")" = 4 ] && box ping >/dev/null 2>&1; }
eventually anew
ok "executed anew"
like "$(box token 2>&1)" 'no file with a token' "the token is still that of the environment"
secret_of >"$D/seen"
ok "and still not to be seen" sh -c '! grep -qaF -e "$1" "$2"' - "$secret" "$D/seen"
is "$(tr '\0' '\n' <"/proc/$BOXD_PID/environ" | grep -c '^BOXD_DOOR=[0-9]*$')" 1 "what was handed over is a number of a descriptor"
is "$(ls -l "/proc/$BOXD_PID/fd" | grep -c boxd-handover)" 0 "which is closed"
box rm s >/dev/null
done_testing
