#!/bin/sh
# An agent's host_path is below one of agent.mount_roots, by what it really is; the rules of all mounts hold as well.
. t/lib/sh/boxd.sh
mkdir "$D/a" "$D/a/x" "$D/b" "$D/c" "$D/ab" "$D/real"
ln -s "$D/real" "$D/linked"
mkdir "$D/real/in"
ln -s "$D/c" "$D/a/out"
ln -s "$D/a/x" "$D/into"
echo plain >"$D/a/file"
agent() { box call agent_exec "{\"command\": \"$2\", \"session_id\": \"$1\", \"host_path\": \"$3\"${4:+, $4}}" -o json; }
says() { agent "$@" 2>&1 >/dev/null; }

boxd_start
is "$(says s true "$D/a")" "boxctl: host_path mounting is disabled because no allowed_mount_roots are configured" "without roots"
boxd_stop
boxd_config "agent.mount_roots = $D/a, $D/b,$D/linked"
boxd_start
outside="boxctl: host_path is outside allowed_mount_roots: $D/a, $D/b, $D/real"
is "$(agent one 'echo hi > f; cat f' "$D/a" | field stdout)" hi "a root itself"
is "$(cat "$D/a/f")" hi "is written to"
is "$(agent two 'pwd' "$D/a/x/" | field stdout)" /workspace "and what is below it"
is "$(agent three 'ls' "$D/linked" | field stdout)" in "a root that is a symlink"
is "$(agent four 'pwd' "$D/into" | field stdout)" /workspace "a symlink that leads into a root"
is "$(says five true "$D/c")" "$outside" "elsewhere"
is "$(says five true "$D/ab")" "$outside" "a name that only begins like a root"
is "$(says five true "$D/a/out")" "$outside" "a symlink that leads out"
is "$(says five true "$D/a/../c")" "$outside" "dots that lead out"
is "$(says five true /etc)" "$outside" "the system's"
is "$(says five true /nowhere/at/all)" "$outside" "what is outside is not told apart by whether it is there"
is "$(says five true "$D/a/missing")" "boxctl: host_path must point to an existing directory on the host" "what is not there"
ok "is not made" [ ! -e "$D/a/missing" ]
is "$(says five true "$D/a/file")" "boxctl: host_path must point to an existing directory on the host" "a file"
is "$(says five true "a/x")" "boxctl: Value error, host_path must be an absolute host path" "a relative one"
is "$(says five true "$D/a" '"workdir": "/tmp"')" "boxctl: Value error, workdir must stay under mount_path when host_path is provided" "a workdir elsewhere"
is "$(agent six 'touch no 2>/dev/null || echo refused' "$D/a" '"host_path_mode": "ro"' | field stdout)" refused "read-only"
is "$(agent seven 'ls; echo private' "$D/c" '"host_path_mode": "none"' | field stdout)" private "what is not mounted may be anything"
is "$(boxctl ps --names | sort | tr '\n' ' ')" "agent@four agent@one agent@seven agent@six agent@three agent@two " "no refusal left a session"
like "$(agent nine 'echo x > from-five; ls -l from-five' "$D/a" '"profile": "offline_readonly"' | field stderr)" 'ead-only' "a profile that locks read-only"

# the rules of all mounts are not opened by an agent's root
boxd_stop
boxd_config "mounts.block = $D/a/x" "mounts.allow = $D/a"
boxd_start
like "$(says s true "$D/a/x")" 'is blocked by mounts.block' "a root does not open what is blocked"
like "$(says s true "$D/b")" 'is outside of mounts.allow' "nor what mounts.allow leaves out"

# a native client may have the same bound
is "$(box call create "{\"session\": \"n\", \"spec\": {\"host_path\": \"$D/b\", \"roots\": [\"$D/a\"]}}" 2>&1)" \
	"boxctl: session n failed: host_path is outside allowed_mount_roots: $D/a" "spec.roots"
done_testing
