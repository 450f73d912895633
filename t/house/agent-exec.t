#!/bin/sh
# An agent's command gets what LangBot would have given it: profile, session, timeout, and output that fits a prompt.
. t/lib/sh/boxd.sh
boxd_start
agent() { box call agent_exec "$1" -o json; }
says() { box call agent_exec "$1" 2>&1 >/dev/null; }

# ---- what a request gets that asks for nothing ----
agent '{"command": "echo out; echo err >&2; pwd; exit 3", "launcher_type": "person", "launcher_id": "42"}' >"$D/out"
is "$(field session_id <"$D/out")" person_42 "the session is the conversation's"
is "$(field session <"$D/out")" agent@person_42 "by this name for all others"
is "$(field backend <"$D/out") $(field status <"$D/out") $(field ok <"$D/out") $(field exit_code <"$D/out")" \
	"native completed false 3" "how it ended"
is "$(field stdout <"$D/out")" 'out\n/workspace' "its output, without blanks around it"
is "$(field stderr <"$D/out")" err "and its errors"
is "$(field stdout_truncated <"$D/out") $(field stderr_truncated <"$D/out")" "false false" "nothing was cut"
like "$(field duration_ms <"$D/out")" '^[0-9]+$' "how long it took"
boxctl inspect agent@person_42 -o json >"$D/info"
is "$(field memory_mb <"$D/info" | head -n 1) $(field cpus <"$D/info") $(field pids_limit <"$D/info") $(field network <"$D/info") $(field read_only_rootfs <"$D/info")" \
	"512 1 128 on true" "the session is as the default profile has it"
is "$(field image <"$D/info")" rockchin/langbot-sandbox:latest "image too"
agent '{"command": "touch /tmp/mark; exit 0", "launcher_type": "person", "launcher_id": "42"}' >"$D/out"
is "$(field ok <"$D/out")" true "exit 0 is ok"
is "$(agent '{"command": "ls /tmp/mark", "launcher_type": "person", "launcher_id": "42"}' | field stdout)" /tmp/mark "the next command finds what it left"
is "$(agent '{"command": "ls /tmp/mark; :", "launcher_type": "person", "launcher_id": "43"}' | field stdout)" "" "another conversation does not"
is "$(agent '{"command": "echo $A-$B", "env": {"A": "1", "B": "2"}, "description": "adds up"}' | field stdout)" 1-2 "env counts, a description does not"
is "$(agent '{"command": "pwd", "workdir": "/tmp/new/dir"}' | field stdout)" /tmp/new/dir "a workdir is made"
is "$(agent '{"command": "kill -KILL $$"}' | field exit_code)" 137 "a signal is 128 and its number"
is "$(agent '{"command": "cat; echo end"}' | field stdout)" end "standard input is empty"
is "$(agent '{"command": "printf \"\\\\377\\\\376ab\\\\n\\\\n\""}' | field stdout)" "$(printf '\357\277\275\357\277\275ab')" "what is no UTF-8 is marked"

# ---- which session ----
is "$(agent '{"command": "true", "template": "{launcher_type}-{sender_id}", "launcher_type": "group", "sender_id": "u 9"}' | field session_id)" \
	group-u-9 "a template of the request, and a safe id"
is "$(agent '{"command": "true", "session_id": " a/b "}' | field session_id)" a-b "an id of the request"
is "$(agent '{"command": "true", "session_id": "s", "instance": "inst-1", "workspace": "ws-1"}' | field session)" \
	agent@ws-9d14934957e7ea8dcfa33291@s "a tenant's is its own"
agent '{"command": "touch /tmp/theirs", "session_id": "s", "instance": "inst-1", "workspace": "ws-1"}' >/dev/null
is "$(agent '{"command": "ls /tmp/theirs; :", "session_id": "s", "instance": "inst-1", "workspace": "ws-2"}' | field stdout)" "" "tenants do not meet in an id"

# ---- profiles ----
agent '{"command": "true", "profile": "offline_readonly", "session_id": "r", "network": "on", "read_only_rootfs": "no", "memory_mb": "64"}' >/dev/null
boxctl inspect agent@r -o json >"$D/info"
is "$(field network <"$D/info") $(field read_only_rootfs <"$D/info") $(field host_path_mode <"$D/info")" "off true ro" "locked fields are the profile's"
is "$(field memory_mb <"$D/info" | head -n 1) $(field cpus <"$D/info") $(field pids_limit <"$D/info")" "64 0.5 64" "the others may be asked for"
is "$(says '{"command": "true", "session_id": "r"}')" \
	"boxctl: session agent@r already exists with network=off, not on" "another spec for the same session is a conflict"
is "$(says '{"command": "true", "profile": "magic"}')" \
	"boxctl: unknown box profile 'magic', available profiles: default, network_basic, network_extended, offline, offline_readonly" "an unknown profile"
agent '{"command": "true", "profile": "network_basic", "session_id": "n"}' >/dev/null
boxctl inspect agent@n -o json >"$D/info"
is "$(field network <"$D/info") $(field network_set <"$D/info")" "on network_basic" "a profile with a network has the rules of its name"

# ---- refusals, whatever kind of value it was ----
for t in 0 '"0"' 0.0 false; do
	is "$(says "{\"command\": \"true\", \"timeout_sec\": $t}")" "boxctl: Value error, timeout_sec must be greater than 0" "timeout $t"
done
is "$(says '{"command": "true", "timeout_sec": "1e3"}')" "boxctl: Input should be a valid integer, unable to parse string as an integer" "a timeout that is no number"
is "$(says '{"command": "true", "memory_mb": 31}')" "boxctl: Value error, memory_mb must be at least 32" "memory"
is "$(says '{"command": "true", "pids_limit": "0"}')" "boxctl: Value error, pids_limit must be at least 1" "processes"
is "$(says '{"command": "true", "cpus": -1}')" "boxctl: Value error, cpus must be greater than 0" "cpus"
is "$(says '{"command": "true", "workspace_quota_mb": -1}')" "boxctl: Value error, workspace_quota_mb must be greater than or equal to 0" "quota"
is "$(says '{"command": "true", "workdir": "x"}')" "boxctl: Value error, workdir must be an absolute path inside the sandbox" "workdir"
is "$(says '{"command": "  "}')" "boxctl: cmd must not be empty" "no command"
is "$(says '{}')" "boxctl: cmd must not be empty" "none at all"
is "$(says '{"command": "true", "session_id": "!!!"}')" "boxctl: Box session_id must contain a valid character" "an id of nothing"
like "$(says '{"command": "true", "template": "{launcher_id"}')" "session template '\{launcher_id': '\{' is not closed at character 1" "a template"
like "$(box call agent_exec '{"command": "true", "timeout_sec": [1]}' 2>&1)" 'timeout_sec: expected a boolean, a number or a string, got an array' "no scalar"

# ---- long output ----
agent '{"command": "printf %05000d 7", "session_id": "o"}' >"$D/out"
is "$(field stdout <"$D/out" | tr -d '\n' | wc -c)" 4004 "4000 characters of 5000, four of them written with a backslash"
like "$(field stdout <"$D/out")" '^0{2376}.n.n\.\.\. \[1039 characters truncated\] \.\.\..n.n0{1584}7$' "head, notice, tail"
is "$(field stdout_truncated <"$D/out") $(field stderr_truncated <"$D/out")" "true false" "and it is told"
agent '{"command": "seq 1 100 >&2", "session_id": "o", "limit": 40}' >"$D/out"
like "$(field stderr <"$D/out")" '^1.n.n\.\.\. \[289 characters truncated\] \.\.\..n.n0$' "another limit"
is "$(field stderr_truncated <"$D/out")" true "is told too"
agent '{"command": "head -c 1048580 /dev/zero | tr \"\\\\0\" a", "session_id": "o"}' >"$D/out"
like "$(field stdout <"$D/out")" 'a.n\.\.\. \[raw output clipped at 1048576 bytes, 4 bytes discarded\]$' "more than is kept"
like "$(field stdout <"$D/out")" '\[1044679 characters truncated\]' "is counted as text"
is "$(agent '{"command": "echo x", "session_id": "o", "limit": 0}' | field stdout)" "" "limit 0: none of it"

# ---- timeout ----
agent '{"command": "echo part; sleep 98765", "session_id": "t", "timeout_sec": "1"}' >"$D/out"
is "$(field status <"$D/out") $(field ok <"$D/out") $(field stdout <"$D/out")" "timed_out false part" "a timeout, and what was written until then"
is "$(field stderr <"$D/out")" "Command timed out after 1 seconds." "told where nothing else is"
unlike "$(boxctl ps --names)" 'agent@t$' "its session is gone"

# ---- limits ----
agent '{"command": "exec python3 -c \"x = bytearray(400 << 20)\" || tail /dev/zero", "session_id": "m", "memory_mb": 64}' >"$D/out"
is "$(field cause <"$D/out") $(field ok <"$D/out")" "memory false" "a memory limit is the cause"
like "$(field stderr <"$D/out")" 'boxd: killed: the session has no more than 64 MiB of memory' "and told in a line of its own"

# ---- a client that goes takes its command along ----
"$BUILD/boxctl" --socket "$D/run/boxd.sock" call agent_exec '{"command": "touch /tmp/began; sleep 98765", "session_id": "gone"}' >/dev/null 2>&1 &
client=$!
began() { boxctl exec agent@gone -- test -e /tmp/began 2>/dev/null; }
eventually began
kill $client
none() { boxctl inspect agent@gone -o json | grep -q '"running": 0'; }
eventually none
ok "its command is ended"
is "$(boxctl exec agent@gone -c 'ps -eo args= | grep -c "[s]leep 98765"')" 0 "and nothing of it is left"
perl - "$D/run/boxd.sock" >"$D/out" <<'PERL'
use IO::Socket::UNIX;
my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
sub str { pack("Ca*", 0xa0 + length $_[0], $_[0]) }
sub pairs { pack("C", 0x80 + @_ / 2) . join "", map { str($_) } @_ }
syswrite $s, "\x94\x00\x07" . str("agent_exec") . pairs(command => "sleep 98765", session_id => "cancelled");
select undef, undef, undef, 0.2;
syswrite $s, "\x94\x00\x08" . str("cancel") . "\x81" . str("call") . "\x07";
my ($in, $n) = ("");
while ($in !~ /cancelled.*stderr/s && sysread $s, $n, 65536) { $in .= $n }
print $in =~ /boxd: the command was cancelled|cancelled before it was started/ ? "cancelled" : "not: $in";
PERL
is "$(cat "$D/out")" cancelled "cancel ends it too"

# ---- switched off ----
boxd_stop
boxd_config 'agent.enabled = no'
boxd_start
is "$(says '{"command": "true"}')" "boxctl: Box runtime is disabled in config (agent.enabled = no)" "not for agents"
is "$(box call agent_status -o json | field connector_error)" "Box runtime is disabled in config (agent.enabled = no)" "which the status tells"
done_testing
