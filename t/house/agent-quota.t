#!/bin/sh
# An agent's workspace with a quota: too much before a command refuses it, too much after it withholds its result.
. t/lib/sh/boxd.sh
boxd_config 'spare_sandboxes = 0' 'workspace_entries = 300' "agent.default_workspace = $D/ws" 'agent.workspace_quota_mb = 4'
boxd_start
agent() { box call agent_exec "$1" -o json; }
says() { box call agent_exec "$1" 2>&1 >/dev/null; }
w=$D/ws/default

is "$(agent '{"command": "echo in > here; cat here", "session_id": "s"}' | field stdout)" in "a configured workspace is made, and written to"
is "$(cat "$w/here")" in "on the host"
case $(disk agent@s quota) in a\ watcher*) ;; *) plan skip_all "a kernel keeps a quota on ${TMPDIR:-/tmp}: $(disk agent@s quota)" ;; esac
is "$(disk agent@s limit_bytes)" 4194304 "with the configured quota"

said=$(says '{"command": "echo secret; head -c 9000000 /dev/zero > big", "session_id": "s", "query_id": "q1"}')
like "$said" "^boxctl: workspace quota exceeded after execution: used=[0-9]+ bytes limit=4194304 bytes entries=[0-9]+ host_path=$w session_id=s\$" "after: in LangBot's words"
is "$(boxctl ps --names)" "" "after: the session is deleted"
is "$(agent '{"command": "echo secret; head -c 9000000 /dev/zero > big", "session_id": "s"}' 2>/dev/null)" "" "after: nothing of the result is told"
ok "after: the files stay" [ -s "$w/big" ]

said=$(says '{"command": "touch ran", "session_id": "s"}')
like "$said" "^boxctl: workspace quota exceeded before execution: used=[0-9]+ bytes limit=4194304 bytes entries=2 host_path=$w session_id=s\$" "before: in LangBot's words"
ok "before: it did not run" [ ! -e "$w/ran" ]
is "$(box call agent_exec '{"command": "ls", "session_id": "other", "workspace_quota_mb": 0}' -o json | field ok)" true "0: no quota"
rm "$w/big"
is "$(agent '{"command": "echo again", "session_id": "s"}' | field stdout)" again "with room again it runs"

like "$(says '{"command": "i=0; while [ $i -lt 400 ]; do : > f$i; i=$((i + 1)); done", "session_id": "s"}')" \
	"^boxctl: workspace entry limit exceeded after execution: entries>300 host_path=$w session_id=s\$" "too many files, after"
like "$(says '{"command": "true", "session_id": "s"}')" \
	"^boxctl: workspace entry limit exceeded before execution: entries>300 host_path=$w session_id=s\$" "and before"
rm -f "$w"/f*

like "$(says '{"command": "head -c 9000000 /dev/zero > big; sleep 98765", "session_id": "s", "timeout_sec": 30}')" \
	"^boxctl: workspace quota exceeded after execution: " "one that would go on is ended, and told of in the same words"
rm -f "$w/big"
is "$(box call agent_errors -o json | grep -c '"type": "BoxValidationError"')" 6 "all of them are among the recent errors"
is "$(box call agent_errors -o json | field query_id | head -n 1)" q1 "with what they were about"

agent '{"command": "echo mine > f", "session_id": "s", "instance": "inst-1", "workspace": "ws-1"}' >/dev/null
is "$(cat "$D/ws/tenants/ws-9d14934957e7ea8dcfa33291/f")" mine "a tenant has a directory of its own"
is "$(agent '{"command": "ls /workspace", "session_id": "s"}' | field stdout)" here "which others do not see"
done_testing
