#!/bin/sh
# How many sessions LangBot may have, what it is told of them, and their common end.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_config 'max_sessions = 4'
boxd_start
host init '"has_limits": true, "limits": {"max_sessions": 2}, "limits_given": ["max_sessions"]' >/dev/null
box create --name native >/dev/null
create ws-1 1 a >/dev/null
create ws-2 1 b >/dev/null
is "$(create ws-1 1 c)" "boxctl: Box session capacity reached (2)" "all workspaces together have as many as box_init says"
is "$(run ws-2 1 c true)" "boxctl: Box session capacity reached (2)" "by a command neither"
is "$(says ws-1 1 a 'echo in')" 'in\n' "those that are there work"
box create --name native2 >/dev/null
ok "native clients are not counted among them"
status() { lb status "$1" 1 | field "$2"; }
is "$(status ws-1 active_sessions) $(status ws-2 active_sessions) $(status ws-3 active_sessions)" "1 1 0" "status counts those of the workspace"
capacity() { lb status "$1" 1 | sed -n '/"capacity": {/,/}/p' | tr -dc 'a-z0-9:,'; }
is "$(capacity ws-1) $(capacity ws-3)" "capacity:limit:2,used:1,remaining:0 capacity:limit:2,used:0,remaining:0" \
	"and what each could still have, which is none where all have it together"
is "$(status ws-1 max_sessions) $(status ws-1 session_ttl_sec)" "2 300" "and tells the limits"
host init '"has_limits": true, "limits": {"max_sessions": 50}, "limits_given": ["max_sessions"]' >/dev/null
is "$(create ws-1 1 c)" "boxctl: Box session capacity reached (4)" "boxd's own maximum holds, too"
is "$(capacity ws-1)" "capacity:limit:3,used:1,remaining:0" "which counts, and so do native sessions and the share that is kept for others"
is "$(lb delete ws-2 1 "$(named b)" | tr -d ' \n')" '{}' "one less"
is "$(capacity ws-1)" "capacity:limit:3,used:1,remaining:1" "and one can be had"
create ws-1 1 c >/dev/null
ok "is room for one"
is "$(status ws-1 active_sessions)" 2 "counted"

# the end of all
lb process_start ws-1 1 "$(process a p), \"command\": \"sleep\", \"args\": [\"98766\"], \"cwd\": \"/\"" >/dev/null
create ws-1 1 keep ', "persistent": true' >/dev/null
is "$(host shutdown | tr -d ' \n')" '{}' "shutdown"
is "$(listed ws-1 1)$(listed ws-2 1)" "" "ends the sessions of all workspaces"
ok "and what ran in them" stopped 98766
is "$(boxctl ps --names | sort | tr '\n' ' ')" "native native2 " "not those of native clients"
is "$(says ws-1 1 a 'echo again')" 'again\n' "boxd serves on"
done_testing
