#!/bin/sh
# boxctl agent: for people who try what an agent would get.
. t/lib/sh/boxd.sh
boxd_start
is "$(box agent exec echo a b)" "a b" "words are a command line"
is "$(box agent exec -c 'echo $((6 * 7))')" 42 "or one string"
box agent exec --session-id x -c 'echo e >&2; exit 3' >"$D/out" 2>"$D/err"
is "$? $(cat "$D/out") $(cat "$D/err")" "3  e" "exit code and errors are the command's"
box agent exec -c 'kill -TERM $$' >/dev/null 2>&1
is $? 143 "a signal, as a shell tells it"
box agent exec -t 1 -c 'sleep 98765' >/dev/null 2>"$D/err"
is "$? $(cat "$D/err")" "124 Command timed out after 1 seconds." "a timeout"
is "$(box agent exec -e A=1 -w /tmp --limit 40 -c 'echo $A; pwd' | tr '\n' ' ')" "1 /tmp " "options"
is "$(box agent exec --launcher-type group --launcher-id 7 -o json true | field session_id)" group_7 "ids, and JSON"
is "$(box agent exec --template '{sender_id}-{conversation_id}-{query_id}' --sender-id s --conversation-id c --query-id q -o json true | field session_id)" s-c-q "all of them"
box agent exec --profile offline_readonly --memory 64 --pids 32 --cpus 0.25 --session-id p true
boxctl inspect agent@p -o json >"$D/info"
is "$(field memory_mb <"$D/info" | head -n 1) $(field pids_limit <"$D/info") $(field cpus <"$D/info") $(field host_path_mode <"$D/info")" "64 32 0.25 ro" "limits and a profile"
box agent exec --memory 1 true >"$D/out" 2>"$D/err"
is "$? $(cat "$D/err")" "125 boxctl: Value error, memory_mb must be at least 32" "a refusal is boxd's, not the command's"
like "$(box agent errors)" 'BoxValidationError .* Value error, memory_mb must be at least 32$' "and is among the errors"
is "$(box agent errors --workspace w --instance i | wc -l)" 1 "of this workspace only"
is "$(box agent errors --workspace w --instance i --all -o json | grep -c '"type"')" 1 "or of all"
like "$(box agent status)" 'profile: +default' "status"
is "$(box agent status -o json | field enabled)" true "as JSON"
is "$(box agent profiles | awk 'NR > 1 { print $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 }')" "default on rw 30s 2m0s 1 512MiB 128 ro -
network_basic on rw 30s 2m0s 1 512MiB 128 ro -
network_extended on rw 30s 5m0s 2 1GiB 256 rw -
offline off rw 30s 2m0s 1 512MiB 128 ro -
offline_readonly off ro 30s 1m0s 0.5 256MiB 64 ro network,host_path_mode,read_only_rootfs" "profiles"
is "$(box agent profiles -o json | field configured)" default "as JSON"
wrong() { # expected name argument...
	_says=$1 _name=$2
	shift 2
	said=$(box agent "$@" 2>&1)
	is $? 2 "$_name: exit 2"
	like "$said" "$_says" "and it says why"
}
wrong 'give a command' "no command" exec
wrong 'give a command' "two" exec -c a b
wrong "no action 'fly'" "an unknown action" fly
wrong 'one argument too many' "too much" status x
wrong "'-1' is not a number of characters" "a wrong limit" exec --limit=-1 true
like "$(box agent --help)" 'conversation-id' "help"
done_testing
