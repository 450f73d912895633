#!/bin/sh
# Create, reuse, conflict, capacity, and refusals that name the field.
. t/lib/sh/boxd.sh
boxd_config 'max_sessions = 3'
boxd_start
fails() { # code, pattern, name, arguments
	_c=$1 _p=$2 _n=$3
	shift 3
	boxctl "$@" >"$D/out" 2>"$D/err"
	is $? "$_c" "$_n: exit $_c"
	like "$(cat "$D/err")" "$_p" "$_n: says why"
}

is "$(boxctl create --name a --memory 64)" a "created"
like "$(boxctl create --name a --memory 64 -o json)" '"reused": true' "the same again is reused"
fails 1 'already exists with memory_mb=64, not 128' "another memory limit" create --name a --memory 128
fails 1 'already exists with persistent=false' "another persistence" create --name a --memory 64 --persistent
fails 1 "'x/y' is not a name" "a bad name" create --name x/y
fails 1 'memory_mb: 1 is under the minimum' "too little memory" create --name b --memory 1
fails 1 'pids_limit: 1 is under the minimum' "too few processes" create --name b --pids 1
fails 1 "network_rules.0.: the first word 'permit' should be allow or deny" "a rule that is none" create --name b --network on --network-rule 'permit all'
fails 1 "network_rules: only with network on" "rules without a network" create --name b --network-rule 'deny all'
fails 1 "network_set: .* has no section .x." "a section that is not there" create --name b --network on --network-set x
fails 125 'session nope not found' "exec without a session" exec nope -- true
fails 1 'session nope not found' "inspect without a session" inspect nope
fails 1 'session nope not found' "rm without a session" rm nope
boxctl rm -f nope; is $? 0 "rm -f does not mind"

boxctl create --name b >/dev/null; boxctl create --name c >/dev/null
fails 1 'capacity reached \(max_sessions = 3\)' "a fourth session" create --name d
is "$(boxctl ps --names | tr '\n' ' ')" "a b c " "the others are listed"
boxctl rm b >/dev/null
ok "after a delete there is room" boxctl create --name d
boxctl rm a c >/dev/null
like "$(boxctl create)" "^[a-z0-9]{8}$" "without a name boxd makes one"
done_testing
