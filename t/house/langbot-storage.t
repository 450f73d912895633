#!/bin/sh
# box_get_storage_analysis tells what a workspace occupies: exactly, in every client era, and without using a session.
. t/lib/sh/hostile.sh
. t/lib/sh/langbot.sh
mkdir -p "$D/shared/data/box/default/tenants"
http_start 'spare_sandboxes = 0'
ns=ws-9d14934957e7ea8dcfa33291 other=ws-0000000000000000000000ff
W=$D/shared/data/box/default/tenants/$ns

# The reply to one action, as it came; workspace, action, data.
act() {
	hostile 'my ($w, $a, $d) = @ARGV; my $c = rpc();
		print answer($c, $a, $d, qq({"instance_uuid": "inst-1", "workspace_uuid": "$w", "placement_generation": 1})), "\n"' "$@"
}
data_of() { sed 's/^.*"data": \(.*\), "chunk_status".*$/\1/'; }
analysis() { act "${1:-ws-1}" box_get_storage_analysis '{}' | data_of; }
host_entry() { # key path kind exists size files errors
	printf '{"key": "%s", "path": "%s", "kind": "%s", "exists": %s, "size_bytes": %s, "file_count": %s, "error_count": %s%s, "scope": "runtime_host"}' \
		"$1" "$W$2" "$3" "$4" "$5" "$6" "$7" "$([ "$3" = root ] || printf ', "parent_key": "workspace"')"
}
keys() { grep -o '"key": "[a-z_]*"' | cut -d'"' -f4 | tr '\n' ' '; }
value() { sed "s/^.*\"key\": \"$1\", //;s/}.*//" | grep -o "\"$2\": [^,]*" | head -n 1 | cut -d' ' -f2; }
configure() {
	host init "\"has_local\": true, \"local\": {\"host_root\": \"./data/box\", \"default_workspace\": \"\", \"allowed_mount_roots\": [\"./data/box\", \"$D\"]}" >/dev/null
}

# ---- before anything is configured ----
is "$(analysis)" '{"size_bytes": 0, "directories": [], "active_sessions": 0, "managed_processes": 0}' \
	"without a default workspace and sessions there is nothing to tell"
is "$(act ws-1 box_get_storage_analysis '{}' | sed 's/"data".*//')" '{"seq_id": 1, "code": 0, "message": "success", ' "which is no error"
is "$(hostile 'my $c = rpc(); print answer($c, "box_get_storage_analysis", "{}")' | grep -o 'PermissionError[^"]*')" \
	"PermissionError: Box tenant action requires a trusted Workspace context" "it is a tenant's action"

# ---- the host part ----
configure
none="$(host_entry workspace "" root false 0 0 0), $(host_entry mcp /.mcp detail false 0 0 0), $(host_entry inbox /inbox detail false 0 0 0), $(host_entry outbox /outbox detail false 0 0 0)"
is "$(analysis)" "{\"size_bytes\": 0, \"directories\": [$none], \"active_sessions\": 0, \"managed_processes\": 0}" "no session: four entries, also when nothing exists"
ok "and nothing was made for it" test ! -e "$W"
mkdir -p "$W/inbox" "$D/shared/data/box/default/tenants/$other"
printf 0123456789 >"$W/a"
ln "$W/a" "$W/b"
ln -s a "$W/c"
ln -s /etc "$W/d"
mkfifo "$W/fifo"
printf 12345 >"$W/inbox/f"
truncate -s 1000000 "$W/sparse"
head -c 5000 /dev/zero >"$D/shared/data/box/default/tenants/$other/theirs"
vector="$(host_entry workspace "" root true 1000030 7 0), $(host_entry mcp /.mcp detail false 0 0 0), $(host_entry inbox /inbox detail true 5 1 0), $(host_entry outbox /outbox detail false 0 0 0)"
is "$(analysis)" "{\"size_bytes\": 1000030, \"directories\": [$vector], \"active_sessions\": 0, \"managed_processes\": 0}" \
	"hard links count each time, symlinks and FIFOs as what they are, sparse files by their size"
rm "$W/d"
ln -s "../$other" "$W/outbox"
is "$(analysis | value outbox exists) $(analysis | value outbox file_count) $(analysis | value outbox size_bytes)" "true 1 $((3 + ${#other}))" \
	"a symlink in the place of a directory is one file, and where it leads is not looked at"
rm -rf "$W"

# ---- sessions ----
create ws-1 1 plain >/dev/null
is "$(analysis | keys)" "workspace mcp inbox outbox session_workspaces session_caches session_temp " "a session without host path: seven entries"
run ws-1 1 plain 'head -c 100000 /dev/zero >/workspace/one; ln /workspace/one /workspace/two; mkdir -p /root/.cache/x; echo hi >/root/.cache/x/y; head -c 8192 /dev/zero >/tmp/t; ln -s /etc /tmp/link; mkfifo /tmp/fifo' >/dev/null
told=$(analysis)
for row in 'session_workspaces /workspace' 'session_caches /root/.cache' 'session_temp /tmp'; do
	set -- $row
	du=$(says ws-1 1 plain "du -sk $2 | cut -f1" | tr -dc 0-9)
	files=$(says ws-1 1 plain "find $2 -type f | wc -l" | tr -dc 0-9)
	like "$told" "\\{\"key\": \"$1\", \"path\": \"$2 \\(1 sandbox sessions\\)\", \"kind\": \"root\", \"exists\": true, \"size_bytes\": $((du * 1024)), \"file_count\": $files, \"error_count\": 0, \"scope\": \"sandbox_sessions\"\\}" \
		"$2 is what du and find say inside"
done
is "$(printf '%s' "$told" | value session_workspaces file_count)" 2 "two names are two files"
sum=0
for key in workspace session_workspaces session_caches session_temp; do sum=$((sum + $(printf '%s' "$told" | value $key size_bytes))); done
like "$told" "^\\{\"size_bytes\": $sum, \"directories\"" "the sum is that of the roots"
like "$told" '"active_sessions": 1, "managed_processes": 0\}$' "and the session is counted"

# ---- a managed process, also when it has ended ----
lb process_start ws-1 1 "$(process plain p), \"command\": \"true\", \"cwd\": \"/\"" >/dev/null
ended() { [ "$(lb process_get ws-1 1 "$(process plain p)" | field state)" = exited ]; }
eventually ended
eight() { analysis | keys | grep -q managed_process_workspaces; }
eventually eight
told=$(analysis)
like "$told" "\\{\"key\": \"managed_process_workspaces\", \"path\": \"/workspace \\(1 managed-process sessions\\)\", \"kind\": \"detail\", \"parent_key\": \"session_workspaces\", \"exists\": true, \"size_bytes\": [1-9][0-9]*, \"file_count\": 2, \"error_count\": 0, \"scope\": \"sandbox_sessions\"\\}\\]" \
	"with a managed process in it: eight, ended or not"
like "$told" '"active_sessions": 1, "managed_processes": 1\}$' "and it is counted"
like "$(hostile 'my $c = dial(); put($c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"); print heard($c)' | tail -n 1)" \
	'"managed_processes":0,"completed_processes":1,"creating_session_tasks":0' "/healthz tells processes that have ended"
lb process_stop ws-1 1 "$(process plain p)" >/dev/null
seven() { ! eight; }
eventually seven
ok "one that is forgotten counts no more"

# ---- a session with a host path adds nothing to the workspaces ----
create ws-1 1 hosted ", \"host_path\": \"$W\", \"workdir\": \"/workspace\"" >/dev/null
before=$(analysis | value session_workspaces size_bytes)
run ws-1 1 hosted 'head -c 70000 /dev/zero >/workspace/big' ", \"host_path\": \"$W\", \"workdir\": \"/workspace\"" >/dev/null
told=$(analysis)
is "$(printf '%s' "$told" | value session_workspaces size_bytes)" "$before" "its workspace is the host's"
is "$(printf '%s' "$told" | value workspace size_bytes)" 70000 "and counted there"
like "$told" '/tmp \(2 sandbox sessions\)' "its other places count"

# ---- another workspace ----
is "$(analysis ws-2 | keys)" "workspace mcp inbox outbox " "another workspace has no sessions"
unlike "$(analysis ws-2)" "9d14934957e7ea8dcfa33291" "and hears nothing of this one"

# ---- it waits for no command, and is no use of a session ----
used() { act ws-1 box_get_sessions '{}' | grep -o '"session_id": "plain".*' | grep -o '"last_used_at": "[^"]*", "status": "[a-z]*"'; }
then=$(used)
like "$then" '"status": "idle"' "a session where nothing runs is idle"
analysis >/dev/null
analysis >/dev/null
is "$(used)" "$then" "to count changes neither last_used_at nor status"
run ws-1 1 plain 'while [ ! -e /tmp/go ]; do sleep 0.1; done; echo done' >"$D/slow" &
slow=$!
running() { used | grep -q '"status": "running"'; }
eventually running
ok "while a command runs, its session is running"
then=$(used)
is "$(analysis | value session_temp error_count)" 0 "it is counted while a command runs"
is "$(used)" "$then" "and stays as it is"
run ws-1 1 plain 'touch /tmp/go' >/dev/null
wait $slow
is "$(field stdout <"$D/slow")" 'done\n' "the command has not noticed"
idle() { used | grep -q '"status": "idle"'; }
eventually idle
ok "after it the session is idle"
is "$(act ws-1 box_get_session '{"session_id": "plain"}' | grep -c '"last_used_at": "[^"]*", "status": "idle"}')" 1 "status is the last key of get"
is "$(act ws-1 box_create_session '{"session_id": "last", "cmd": ""}' | grep -c '"notice": "[^"]*", "status": "idle"}')" 1 "and of create"
lb process_start ws-1 1 "$(process last p), \"command\": \"cat\", \"cwd\": \"/\"" >/dev/null
like "$(act ws-1 box_get_session '{"session_id": "last"}')" '"status": "idle", "managed_processes": \{' "before the processes, which do not make it running"

# ---- an expired default workspace, and one that leads elsewhere ----
mv "$D/shared/data/box/default/tenants" "$D/shared/tenants"
ln -s "$D/shared/tenants" "$D/shared/data/box/default/tenants"
is "$(act ws-2 box_get_storage_analysis '{}' | grep -o 'BoxAdmissionError[^"]*')" \
	"BoxAdmissionError: Managed sandbox tenant directory escapes the configured workspace" "tenants that leads out of the default workspace is refused"
rm "$D/shared/data/box/default/tenants"
mv "$D/shared/tenants" "$D/shared/data/box/default/tenants"
is "$(analysis ws-2 | keys)" "workspace mcp inbox outbox " "and then all is well"
mv "$D/shared/data/box/default" "$D/shared/data/box/gone"
is "$(analysis ws-2)" '{"size_bytes": 0, "directories": [], "active_sessions": 0, "managed_processes": 0}' "a default workspace that is not there any more is left out"
done_testing
