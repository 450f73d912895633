#!/bin/sh
# LangBot's sessions: made, found again, told, ended; and no workspace ever sees another's.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_config 'log_level = debug'
boxd_start

made=$(create ws-1 1 a ', "image": "alpine:latest", "persistent": true')
is "$(of "$made" session_id)" a "create tells the name as the workspace has it"
is "$(of "$made" image) $(of "$made" persistent)" "alpine:latest true" "and the spec as it was asked for"
is "$(of "$made" backend)" native "made by boxd itself"
unlike "$made" 'ws-9d14934957e7ea8dcfa33291' "the name on this machine is not told"
boxctl ps --names | grep -qx ws-9d14934957e7ea8dcfa33291-g1-a
ok "it is the one that LangBot's client computes"
is "$(lb create ws-1 1 "$(spec a '' ', "image": "alpine:latest", "persistent": true')" | field backend_session_id)" \
	"$(of "$made" backend_session_id)" "create again: the same sandbox"
got=$(lb get ws-1 1 "$(named ' a ')")
is "$(of "$got" session_id) $(of "$got" image)" "a alpine:latest" "get finds it, by an id with blanks around it too"
like "$got" '"processes": \[\]' "it has no processes"
create ws-1 1 b/c >/dev/null
is "$(listed ws-1 1)" "a b-c " "list tells all of them"
is "$(lb get ws-1 1 "$(named 'b c')" | field session_id)" b-c "an id is made safe, as LangBot does"

# one built ahead: its times are the session's own, not those of the sandbox
built_ahead() { [ "$(grep -c 'name=\.spare\.[0-9]* ready' "$D/log")" -gt "$(grep -c ' claimed ' "$D/log")" ]; }
eventually built_ahead
ahead=$(create ws-3 1 ahead)
ok "last_used is not before created" [ "$(of "$ahead" last_used_us)" -ge "$(of "$ahead" created_us)" ]
grep -q 'name=ws-[0-9a-f]*-g1-ahead claimed' "$D/log"
ok "the sandbox was built ahead"

# another workspace
is "$(listed ws-2 1)" "" "another workspace sees none"
is "$(lb get ws-2 1 "$(named a)")" "boxctl: session a not found" "cannot get one"
is "$(lb delete ws-2 1 "$(named a)")" "boxctl: session a not found" "cannot delete one"
is "$(lb process_get ws-2 1 "$(process a default)")" "boxctl: session a not found" "nor reach its processes"
is "$(lb get ws-2 1 "$(named ws-9d14934957e7ea8dcfa33291-g1-a)")" \
	"boxctl: session ws-9d14934957e7ea8dcfa33291-g1-a not found" "not by its full name either"
is "$(says ws-1 1 a 'echo secret >/tmp/x; id -u' ', "image": "alpine:latest", "persistent": true')" '0\n' "the same id"
is "$(says ws-2 1 a 'cat /tmp/x 2>/dev/null || echo none')" 'none\n' "is another sandbox in another workspace"
is "$(listed ws-1 1)" "a b-c " "each has its own"
is "$(listed ws-2 1)" "a " "and only that"
box create --name native >/dev/null
is "$(listed ws-1 1)" "a b-c " "sessions of native clients are nobody's"
is "$(lb get ws-1 1 "$(named native)")" "boxctl: session native not found" "and cannot be reached"

# the end
is "$(lb delete ws-1 1 "$(named b/c)" | tr -d ' \n')" '{}' "delete"
is "$(lb delete ws-1 1 "$(named b/c)")" "boxctl: session b-c not found" "twice is an error"
is "$(lb get ws-1 1 "$(named b-c)")" "boxctl: session b-c not found" "it is gone"
is "$(says ws-1 1 b-c 'echo again')" 'again\n' "and made anew by the next command"

# refusals
is "$(lb get ws-1 1 "$(named '!!!')")" "boxctl: Box session_id must contain a valid character" "an id without a usable character"
is "$(run ws-1 1 '  ' true)" "boxctl: Box session_id must not be empty" "a blank one"
like "$(lb get ws-1 1 "$(named "$(printf '%0240d' 0)")")" 'too long' "one that does not fit a name"

# a dead sandbox
init=$(boxctl inspect ws-9d14934957e7ea8dcfa33291-g1-b-c -o json | field init_pid)
kill -9 "$init"
alive() { [ "$(says ws-1 1 b-c 'echo alive' 2>/dev/null)" = 'alive\n' ]; }
eventually alive
ok "a sandbox that died is replaced"
done_testing
