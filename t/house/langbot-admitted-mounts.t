#!/bin/sh
# With a grant a workspace may have read-only mounts: of directories below the allowed roots, at places below /workspace.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
ns=ws-9d14934957e7ea8dcfa33291 other=ws-96c73dfdf9f33c1a3ae04b2e
mkdir -p "$D/w" "$D/skills" "$D/roots/a" "$D/roots/b" "$D/outside" "$D/w/tenants/$other"
echo from-a >"$D/roots/a/f"
echo from-b >"$D/roots/b/f"
echo secret >"$D/outside/f"
echo theirs >"$D/w/tenants/$other/f"
ln -s a "$D/roots/link"
ln -s "$D/outside" "$D/roots/out"
ln -s ../outside/f "$D/roots/manifest-out"
echo '{}' >"$D/roots/manifest"
mkfifo "$D/roots/fifo"
digits=07a830eb63fbfa33299aed7c2d4cf2782bf6b16d7f68b77050d7795f95b15cb4
boxd_config 'spare_sandboxes = 0' 'unsafe_soft_storage_limits = yes'
boxd_start
allow() { # roots
	host init "\"has_backend\": true, \"backend\": \"nsjail\", \"has_local\": true, \"local\": {\"default_workspace\": \"$D/w\",
		\"skills_root\": \"$D/skills\", \"allowed_mount_roots\": [$1]}, \"has_admission\": true,
		\"admission\": {\"required\": true, \"max_timeout_sec\": 60, \"memory_mb\": 64, \"readiness_cache_sec\": 3600}" >/dev/null
}
allow "\"$D/w\", \"$D/roots\", \"$D/skills\""
grant ws-1 1 1 250 >/dev/null

mount() { printf '{"host_path": "%s", "mount_path": "%s", "mode": "%s"%s}' "$1" "$2" "${3:-ro}" "$4"; }
work() { lb exec ws-1 1 "\"spec\": {\"session_id\": \"s\", \"cmd\": \"$1\", \"workdir\": \"/workspace\", \"extra_mounts\": [$2]$3}"; }
refused() { # mounts text name
	is "$(work true "$1")" "boxctl: Managed sandbox $2" "$3"
}

# ---- what runs ----
a=$(mount "$D/roots/a" /workspace/.skills/a)
is "$(work 'cat .skills/a/f' "$a" | field stdout)" 'from-a\n' "one read-only mount below /workspace: the command runs"
like "$(work 'touch .skills/a/g 2>&1; echo $?' "$a" | field stdout)" 'Read-only file system.*1' "and cannot write there"
ok "nor has it written" test ! -e "$D/roots/a/g"
is "$(work 'cat x/f y/f' "$(mount "$D/roots/a" /workspace/x), $(mount "$D/roots/b" /workspace/y)" | field stdout)" 'from-a\nfrom-b\n' "two of them"
is "$(work 'cat x/f' "$(mount "$D/roots/link" /workspace/x)" | field stdout)" 'from-a\n' "a symlink below the roots is resolved"
is "$(work 'cat x/f; touch x/g' "$(mount "$D/roots//b/../link/." /workspace/x)" | field stdout)" 'from-a\n' "however the path is written"
is "$(lb list ws-1 1 | field session_id)" global "all in the one session"
is "$(work 'echo none' | field stdout)" 'none\n' "and then without mounts"

# ---- what does not ----
many=$(perl -e 'print join ", ", map { qq({"host_path": "'"$D"'/roots/a", "mount_path": "/workspace/m$_", "mode": "ro"}) } 1 .. 257')
refused "$many" "accepts at most 256 read-only mounts" "257 mounts"
refused "$(mount "$D/roots/a" /workspace/x rw)" "additional mounts must be read-only" "a writable one"
refused "$(mount "$D/roots/a" /workspace/x none)" "additional mounts must be read-only" "one of mode none"
refused "$(mount "$D/roots/none" /workspace/x)" "read-only mount source is unavailable" "a source that is not there"
refused "$(mount "$D/roots/a/f" /workspace/x)" "read-only mount source is unavailable" "a file"
refused "$(mount "$D/roots/fifo" /workspace/x)" "read-only mount source is unavailable" "a FIFO"
refused "$(mount "$D/outside" /workspace/x)" "read-only mount source is outside allowed_mount_roots" "one outside the roots"
refused "$(mount "$D/roots/out" /workspace/x)" "read-only mount source is outside allowed_mount_roots" "one that leads out of them"
refused "$(mount "$D/roots/../outside" /workspace/x)" "read-only mount source is outside allowed_mount_roots" "one with dots"
refused "$(mount "$D/roots/a" /workspace/x ro ", \"manifest_path\": \"$D/roots/manifest\"")" "mount manifests require content_digest" "a manifest without a digest"
digest=", \"content_digest\": \"sha256:$digits\", \"manifest_path\": "
refused "$(mount "$D/roots/a" /workspace/x ro "$digest\"$D/roots/none\"")" "read-only mount manifest is unavailable" "a manifest that is not there"
refused "$(mount "$D/roots/a" /workspace/x ro "$digest\"$D/roots/fifo\"")" "read-only mount manifest is unavailable" "one that is no file"
refused "$(mount "$D/roots/a" /workspace/x ro "$digest\"$D/roots/manifest-out\"")" "read-only mount manifest is outside allowed_mount_roots" "one outside the roots"
for place in /workspace /etc /workspace/../etc /tmp/x "/opt/langbot-artifacts/x"; do
	refused "$(mount "$D/roots/a" "$place")" "additional mount targets must stay under /workspace" "at $place"
done
refused "$a, $a" "additional mount targets must be unique" "one target twice"
refused "$a, $(mount "$D/roots/b" /workspace/.skills/./a)" "additional mount targets must be unique" "by another spelling neither"
is "$(work true "$(mount "$D/roots/a" /workspace/x rw)" ', "network": "on"')" "boxctl: Managed sandbox network access is disabled" "the network is refused before mounts"
is "$(work true "$(mount "$D/roots/a" /workspace/x rw)" ', "host_path": "/tmp"')" "boxctl: Managed sandbox host_path is runtime-owned" "and so is host_path"

# ---- what is another workspace's stays that, though it is below an allowed root ----
like "$(work 'cat x/f' "$(mount "$D/w/tenants/$other" /workspace/x)")" '^boxctl: .*(blocked|another workspace|other workspaces)' "another workspace's directory"
like "$(work 'ls x' "$(mount "$D/w" /workspace/x)")" '^boxctl: .*(blocked|another workspace|other workspaces)' "a directory that contains others"
ln -s "$D/w/tenants/$other" "$D/roots/theirs"
like "$(work 'cat x/f' "$(mount "$D/roots/theirs" /workspace/x)")" '^boxctl: .*(blocked|another workspace|other workspaces)' "a symlink to one"
is "$(work 'cat x' '' | field exit_code)" 1 "nothing of it came in"

# ---- skills of older LangBots ----
box call skill_create "{\"context\": {\"instance\": \"inst-1\", \"workspace\": \"ws-1\", \"generation\": 1}, \"name\": \"pdf\", \"has_instructions\": true, \"instructions\": \"do\"}" >/dev/null
is "$(work 'ls .skills/pdf' '' ', "skill_name": "pdf"' | field stdout)" 'SKILL.md\n' "skill_name mounts the skill"
is "$(work 'ls .skills/pdf; cat x/f' "$(mount "$D/roots/a" /workspace/x)" ', "skill_name": "pdf"' | field stdout)" 'SKILL.md\nfrom-a\n' "beside other mounts"
is "$(work true "$(mount "$D/roots/a" /workspace/.skills/pdf)" ', "skill_name": "pdf"')" "boxctl: Managed sandbox additional mount targets must be unique" "whose place is taken"

# ---- no roots ----
vanish "$BOXD_PID"
boxd_start
host init "\"has_backend\": true, \"backend\": \"nsjail\", \"has_local\": true, \"local\": {\"default_workspace\": \"$D/w\", \"skills_root\": \"$D/skills\", \"host_root\": \"\", \"allowed_mount_roots\": [\"$D/w\"]},
	\"has_admission\": true, \"admission\": {\"required\": true, \"readiness_cache_sec\": 3600, \"memory_mb\": 64}" >/dev/null
grant ws-1 1 1 250 >/dev/null
refused "$a" "read-only mount source is outside allowed_mount_roots" "other roots: what was allowed is not any more"
is "$(work 'echo still' | field stdout)" 'still\n' "the rest works"
for s in $(boxctl ps --names); do boxctl rm "$s" >/dev/null; done
done_testing
