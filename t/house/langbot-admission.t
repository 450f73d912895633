#!/bin/sh
# Grants: one session for those who have one, nothing for the others, and nothing that a restart forgets.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
mkdir "$D/w" "$D/skills"
# bounded or not is another test's question
boxd_config 'spare_sandboxes = 0' 'unsafe_soft_storage_limits = yes'
boxd_start
denied() { # got text name
	is "$1" "boxctl: $2" "$3"
}

# ---- before it is required ----
denied "$(grant ws-1 1 1 100)" "Sandbox admission enforcement is not enabled" "without enforcement there are no grants"
denied "$(revoke ws-1 1)" "Sandbox admission enforcement is not enabled" "and no revocations"
strict '"max_grant_ttl_sec": 300, "max_timeout_sec": 5, "memory_mb": 64, "readiness_cache_sec": 3600' >/dev/null
denied "$(run ws-1 1 s 'echo hi')" "Sandbox admission grant is missing" "no grant: no command"
denied "$(lb list ws-1 1)" "Sandbox admission grant is missing" "and no list"
denied "$(lb status ws-1 1)" "Sandbox admission grant is missing" "nor status"
is "$(lb storage ws-1 1 | field active_sessions)" 0 "but what is occupied is told without one"

# ---- a grant ----
ask="$(grant ws-1 1 3 200)"
is "$(printf '%s\n' "$ask" | field revision) $(printf '%s\n' "$ask" | field max_sessions)" "3 1" "a grant, and its receipt"
until_us=$(printf '%s\n' "$ask" | field expires_us)
is "$(grant ws-1 1 3 100 | field expires_us)" "$until_us" "a shorter one of the same revision: the longer one is told"
work() { lb exec "$1" "$2" "\"spec\": {\"session_id\": \"$3\", \"cmd\": \"$4\", \"workdir\": \"/workspace\"$5}"; }
out=$(work ws-1 1 mine 'pwd; echo here >f')
is "$(printf '%s\n' "$out" | field session_id) $(printf '%s\n' "$out" | field stdout)" 'global /workspace\n' "a command runs, in the one session"
is "$(listed ws-1 1)" "global " "whatever it was called"
is "$(cat "$D"/w/tenants/ws-9d14934957e7ea8dcfa33291/f)" here "in the workspace's own directory"
capacity() { lb status "$1" "$2" | sed -n '/"capacity": {/,/}/p' | tr -dc 'a-z0-9:,'; }
is "$(capacity ws-1 1)" "capacity:limit:1,used:1,remaining:0" "status tells that it has what is granted"
one=$(lb list ws-1 1)
is "$(printf '%s\n' "$one" | field persistent) $(printf '%s\n' "$one" | field network) $(printf '%s\n' "$one" | field memory_mb)" \
	"true off 64" "persistent, offline, with the policy's limits"
denied "$(work ws-1 1 s true ', "network": "on"')" "Managed sandbox network access is disabled" "no network"
denied "$(work ws-1 1 s true ', "extra_mounts": [{"host_path": "/tmp", "mount_path": "/x"}]')" "Managed sandbox additional mounts must be read-only" "no writable mounts"
denied "$(work ws-1 1 s true ', "host_path": "/tmp"')" "Managed sandbox host_path is runtime-owned" "no other directory"
denied "$(run ws-1 1 s true)" "Managed sandbox workdir must stay under /workspace" "no other place to work"
denied "$(work ws-1 1 s true ', "skill_name": "none"')" "Managed sandbox skill is unavailable in this Workspace" "no skill that is not there"
denied "$(lb process_start ws-1 1 '"session_id": "global", "process_id": "p", "command": "cat", "cwd": "/workspace"')" \
	"Sandbox admission grant does not permit managed processes" "no managed process"
denied "$(lb get ws-1 1 "$(named other)")" "Managed sandbox session_id is runtime-owned" "no other session"
denied "$(work ws-2 1 s true)" "Sandbox admission grant is missing" "another workspace has no grant"
denied "$(work ws-1 2 s true)" "Sandbox admission grant belongs to another execution generation" "another generation neither"

# ---- what a grant may be ----
denied "$(grant ws-1 1 2 100)" "Sandbox admission grant revision is stale" "an older revision"
denied "$(grant ws-1 1 3 0)" "Cannot install an expired sandbox admission grant" "an expired one"
denied "$(grant ws-1 1 3 360)" "Sandbox admission grant lifetime exceeds the configured maximum" "too long a one"
denied "$(grant ws-1 1 3 100 2)" "Sandbox admission grant exceeds the session cap" "too many sessions"
denied "$(grant ws-1 1 3 100 1 1)" "Sandbox admission grant exceeds the managed-process cap" "too many processes"
denied "$(grant ws-1 1 3 100 0)" "Sandbox admission limits changed without a new entitlement revision" "other limits"
host init '"has_limits": true, "limits": {"max_admission_records": 1}, "limits_given": ["max_admission_records"]' >/dev/null
denied "$(grant ws-2 1 1 100)" "Sandbox admission record capacity reached; refusing an unbounded Workspace fence allocation" "no room"
host init '"has_limits": true, "limits": {"max_admission_records": 100}, "limits_given": ["max_admission_records"]' >/dev/null

# ---- twenty at once ----
grant ws-3 1 1 200 >/dev/null
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	work ws-3 1 "s$i" "echo $i" >"$D/o$i" &
	jobs="$jobs $!"
done
wait $jobs
is "$(cat "$D"/o* | field exit_code | tr -d '\n')" 00000000000000000000 "twenty first commands at once all run"
is "$(listed ws-3 1)" "global " "in one session"
is "$(boxctl ps --names | wc -l)" 2 "two workspaces have two"

# ---- a new generation, revocation ----
is "$(grant ws-1 2 3 200 | field generation)" 2 "a new generation"
is "$(boxctl ps --names | grep -c 9d14934957e7ea8dcfa33291)" 0 "ends the session of the old one"
denied "$(work ws-1 1 s true)" "Sandbox admission grant belongs to another execution generation" "which cannot come back"
denied "$(grant ws-1 1 4 200)" "Sandbox admission execution generation is stale" "by no grant"
work ws-1 2 s true >/dev/null
is "$(revoke ws-1 3)" "{}" "a revocation"
is "$(boxctl ps --names | grep -c 9d14934957e7ea8dcfa33291)" 0 "ends the session"
denied "$(work ws-1 2 s true)" "Sandbox admission grant is missing" "and nothing runs any more"
denied "$(grant ws-1 2 3 200)" "Sandbox admission grant revision was revoked" "its grant cannot come back"
denied "$(revoke ws-1 2)" "Sandbox admission revocation is stale" "an older revocation is stale"
is "$(grant ws-1 2 4 200 | field revision)" 4 "a newer grant is taken"

# ---- expiry, by itself ----
grant ws-4 1 1 2 >/dev/null
work ws-4 1 s true >/dev/null
is "$(listed ws-4 1)" "global " "a short grant"
short=$(boxctl ps --names | grep -v -e 9d14934957e7ea8dcfa33291 | grep -c g1-global)
is "$short" 2 "has its session"
over() { [ "$(boxctl ps --names | grep -c g1-global)" = 1 ]; }
eventually over
ok "which ends when the grant does, though nobody asks"
denied "$(work ws-4 1 s true)" "Sandbox admission grant is missing" "and then there is no grant"

# ---- a restart forgets nothing ----
revoke ws-5 9 >/dev/null
vanish "$BOXD_PID"
boxd_start
denied "$(grant ws-1 2 4 100)" "Sandbox admission enforcement is not enabled" "after a restart LangBot has to say it again"
strict '"readiness_cache_sec": 3600' >/dev/null
denied "$(work ws-1 2 s true)" "Sandbox admission grant is missing" "grants are to be sent again"
denied "$(grant ws-5 1 9 100)" "Sandbox admission grant revision was revoked" "a revocation is remembered"
denied "$(grant ws-1 2 3 100)" "Sandbox admission grant revision was revoked" "the one before it, too"
denied "$(grant ws-1 1 4 100)" "Sandbox admission execution generation is stale" "a generation is"
denied "$(grant ws-3 1 1 100 0)" "Sandbox admission limits changed without a new entitlement revision" "limits are"
is "$(grant ws-1 2 4 100 | field revision)" 4 "what was good is good again"
done_testing
