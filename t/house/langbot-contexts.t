#!/bin/sh
# Whose request is it?  Tenants' actions need a context, the host's own do not; legacy_clients lends one.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start
no='boxctl: Box tenant action requires a trusted Workspace context'
for action in list status invalid; do
	is "$(host $action)" "$no" "box_$action needs a context"
done
is "$(host get "$(named s)")" "$no" "box_get does"
is "$(host exec "$(spec s true)")" "$no" "box_exec does"
is "$(box call skill_list '{}' 2>&1)" "$no" "skill_list does"
like "$(box call box_list '{"context": {"instance": "i", "workspace": "w"}}' 2>&1)" 'belong together' "half a context is none"
for action in ping health backend_info; do
	host $action >/dev/null
	ok "box_$action needs none"
done
is "$(host shutdown | tr -d ' \n')" '{}' "nor does box_shutdown"
is "$(boxctl call box_ping '{"context": {"instance": "any", "workspace": "w", "generation": 1}}' -o json | tr -d ' \n')" '{}' "but may have one"
boxd_stop
boxd_config 'legacy_clients = yes'
boxd_start
is "$(host exec "$(spec s 'echo hi')" | field stdout)" 'hi\n' "legacy_clients: without a context"
is "$(host list | field session_id)" s "all in one workspace"
is "$(listed ws-1 1)" "" "which is nobody else's"
done_testing
