#!/bin/sh
# A workspace that takes all it can get: of sessions, managed processes, actions and the store's queue the others keep a part.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh

taken() { # how many of "$2 a b c..." succeed; the first refusal is in $last
	n=0
	for i in 1 2 3 4 5 6 7 8 9; do
		last=$("$@" "x$i")
		case $last in boxctl:*) break ;; esac
		n=$((n + 1))
	done
}

boxd_config 'max_sessions = 8' 'max_processes = 8'
boxd_start

# sessions
taken create ws-1 1
is "$n" 6 "one workspace gets three quarters of max_sessions"
is "$last" "boxctl: Box session capacity reached (6): one workspace may have 6 of 8 (workspace_share = 75 in boxd.conf)" "and is told why"
like "$(create ws-2 1 a)" session_id "another workspace has room"
is "$(says ws-2 1 b 'echo in')" 'in\n' "a second session of it, too"
like "$(create ws-3 1 a)" 'capacity reached \(8\)' "the limit of all still holds"
is "$(says ws-1 1 x1 'echo in')" 'in\n' "who has its share can use it"
box rm "$(box ps --names | grep -- '-x6$')" >/dev/null
like "$(create ws-1 1 y)" session_id "and may replace what it gave up"

# what LangBot configures counts as well, when it is less
for s in x5 y; do lb delete ws-1 1 "$(named $s)" >/dev/null; done
host init '"has_limits": true, "limits": {"max_sessions": 4, "max_managed_processes": 4}, "limits_given": ["max_sessions", "max_managed_processes"]' >/dev/null
lb delete ws-1 1 "$(named x4)" >/dev/null
for s in a b; do lb delete ws-2 1 "$(named $s)" >/dev/null; done
like "$(create ws-1 1 z)" 'one workspace may have 3 of 4' "three quarters of LangBot's own limit"
create ws-2 1 a >/dev/null

# managed processes
start() { lb process_start "$1" 1 "$(process "$2" "$3"), \"command\": \"sleep\", \"args\": [\"98761\"], \"cwd\": \"/\""; }
on_x1() { start ws-1 x1 "$1"; }
taken on_x1
is "$n" 3 "managed processes: three quarters"
is "$last" "boxctl: Box managed process capacity reached (3): one workspace may have 3 of 4 (workspace_share = 75 in boxd.conf)" "told likewise"
like "$(start ws-2 a p)" "running" "another workspace can start one"
like "$(start ws-1 x1 x1)" "running" "one that takes the place of another starts"

# agents' calls share the same limit: theirs are sessions of a workspace
boxd_stop
boxd_config 'max_sessions = 4'
boxd_start
agent() { box agent exec --instance inst-1 --workspace "$1" --session-id "$2" -c 'echo in' 2>&1; }
is "$(agent ws-1 a)$(agent ws-1 b)$(agent ws-1 c)" ininin "an agent's workspace has three sessions of four"
like "$(agent ws-1 d)" 'one workspace may have 3 of 4' "not the last"
is "$(agent ws-2 a)" in "which another agent's workspace gets"
sleeping='{"instance": "inst-1", "workspace": "ws-1", "session_id": "a", "command": "sleep 98762"}'
is "$(timeout -k 5 60 perl t/lib/sh/rpc.pl "$D/run/boxd.sock" --at-once 98 2 agent_exec "$sleeping" | sort -u)" \
	"busy: Workspace is busy: too many concurrent commands (96): one workspace may have 96 of 128 (workspace_share = 75 in boxd.conf)" \
	"of an agent host's connection one workspace has 96 commands"
boxd_stop

# configurable
boxd_config 'max_sessions = 4' 'workspace_share = 50'
boxd_start
taken create ws-1 1
is "$n" 2 "workspace_share = 50: half"
boxd_stop
boxd_config 'max_sessions = 3' 'workspace_share = 100'
boxd_start
taken create ws-1 1
is "$n" 3 "workspace_share = 100: all"
boxd_stop
boxd_config 'max_sessions = 3' 'workspace_share = 75'
boxd_start
taken create ws-1 1
is "$n" 3 "less than one place is not kept"
boxd_stop
done_testing
