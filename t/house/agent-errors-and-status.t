#!/bin/sh
# The last fifty errors, each workspace's for itself; and how things are.
. t/lib/sh/boxd.sh
boxd_config 'agent.profile = offline_readonly' 'idle_ttl_sec = 77' 'max_sessions = 9'
boxd_start
refuse() { box call agent_exec "{\"timeout_sec\": 0, \"query_id\": \"$1\", \"command\": \"true\"${2:+, $2}}" >/dev/null 2>&1; }
errors() { box call agent_errors "${1:-{\}}" -o json; }
status() { box call agent_status "${1:-{\}}" -o json; }
one='"instance": "inst-1", "workspace": "ws-1"' two='"instance": "inst-1", "workspace": "ws-2"'

is "$(errors | grep -c '"type"')" 0 "none at first"
is "$(status | field recent_error_count)" 0 "says the status too"
refuse q1
errors >"$D/out"
like "$(field timestamp <"$D/out")" '^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{6}\+00:00$' "when"
is "$(field type <"$D/out")" BoxValidationError "of which class"
is "$(field message <"$D/out")" "Value error, timeout_sec must be greater than 0" "in which words"
is "$(field query_id <"$D/out")" q1 "about what"
box call agent_exec '{"command": "true", "session_id": "!!!"}' >/dev/null 2>&1
is "$(errors | field type | tail -n 1)" ValueError "an id that cannot be used"
box call agent_exec '{"command": "true", "session_id": "c"}' >/dev/null
box call agent_exec '{"command": "true", "session_id": "c", "memory_mb": 64}' >/dev/null 2>&1
is "$(errors | field type | tail -n 1)" BoxSessionConflictError "a conflict, which the session found"
box call agent_exec '{"command": "exit 3", "session_id": "c"}' >/dev/null 2>&1
is "$(errors | grep -c '"type"')" 3 "a command that fails is no error"

refuse w1 "$one"
refuse w2 "$two"
is "$(errors "{$one}" | field query_id)" w1 "one workspace sees its own"
is "$(errors "{$one}" | field workspace) $(errors "{$one}" | field instance)" "ws-1 inst-1" "which it is told"
is "$(errors "{$two}" | field query_id)" w2 "another its own"
is "$(errors '{"instance": "inst-2", "workspace": "ws-1"}' | grep -c '"type"')" 0 "the same name in another instance is another"
is "$(errors | grep -c '"type"')" 3 "who names none sees those of none"
is "$(errors '{"all": true}' | grep -c '"type"')" 5 "unless all are asked for"

i=1
while [ $i -le 60 ]; do
	refuse "n$i"
	i=$((i + 1))
done
errors >"$D/out"
is "$(grep -c '"type"' <"$D/out")" 50 "fifty are kept"
is "$(field query_id <"$D/out" | head -n 1) $(field query_id <"$D/out" | tail -n 1)" "n11 n60" "the last ones, the oldest first"
is "$(errors "{$one}" | grep -c '"type"')" 0 "of all workspaces together"

status >"$D/out"
is "$(field name <"$D/out") $(field available <"$D/out" | tr '\n' ' ')" "native true true " "the backend, and that it can be used"
is "$(field active_sessions <"$D/out") $(field managed_processes <"$D/out")" "1 0" "sessions and processes"
is "$(field session_ttl_sec <"$D/out") $(field profile <"$D/out") $(field enabled <"$D/out")" "77 offline_readonly true" "what is configured"
is "$(field max_sessions <"$D/out") $(field max_managed_processes <"$D/out") $(field max_completed_processes <"$D/out") $(field max_admission_records <"$D/out") $(field max_rpc_file_bytes <"$D/out")" \
	"9 64 256 100000 20971520" "the limits"
is "$(field recent_error_count <"$D/out") $(field connector_error <"$D/out")" "50 " "the errors, and none in the way"
box call agent_exec "{\"command\": \"true\", \"session_id\": \"c\", $one}" >/dev/null
is "$(status "{$one}" | field active_sessions)" 1 "a workspace counts its own sessions"
is "$(status | field active_sessions)" 1 "and nobody else's"
boxctl process start agent@c p -- sleep 98765 >/dev/null
is "$(status | field managed_processes) $(status "{$one}" | field managed_processes)" "1 0" "so with processes"
boxctl create --name agent >/dev/null
is "$(status | field active_sessions)" 1 "a session of somebody else does not count"
done_testing
