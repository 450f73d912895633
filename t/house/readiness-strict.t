#!/bin/sh
# Strict readiness passes where the kernel bounds everything, and because of that alone.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
need_pool
mkdir "$D/w" "$D/skills"
boxd_config 'spare_sandboxes = 0' 'pool_workspace_mb = 64' 'max_sessions = 2'
boxd_start

is "$(host backend_info | field enforced)" false "before LangBot requires anything readiness is the backend alone"
like "$(host backend_info | tr -d '\n ')" '"checks":\[\{"name":"backend_available","passed":true\}\],"details":\[\]' "one check, and no details"
strict '"readiness_cache_sec": 3600' >/dev/null
told=$(host backend_info)
is "$(passed hard_read_only_mount_quota)" false "skills in an ordinary directory are not bounded"
is "$(failed_checks)" "hard_read_only_mount_quota hard_skill_storage_quota " "all else is; the check has the name of either LangBot"
like "$(printf '%s\n' "$told" | field error)" "boxctl pool create $D/skills" "and it says what to do"
is "$(host health)" "boxctl: managed sandbox isolation is not ready" "box_health is an error"
like "$(run ws-1 1 s 'echo hi')" 'Managed sandbox isolation is not ready \(failed checks: hard_read_only_mount_quota\)$' "and so is a command"

boxctl pool create "$D/skills" --size 16M >/dev/null
told=$(host backend_info)
is "$(passed hard_skill_storage_quota)" false "what was found is good for a while"
strict '"readiness_cache_sec": 3600' >/dev/null
told=$(host backend_info)
is "$(failed_checks)" "" "after another box_init, with volumes for all, nothing fails"
is "$(printf '%s\n' "$told" | field ready)" true "it is ready"
is "$(printf '%s\n' "$told" | field unsafe_soft_storage_limits)" false "and not because somebody says so"
is "$(printf '%s\n' "$told" | sed -n '/"checks"/,/]/p' | field name | tr '\n' ' ')" \
	"configuration required_backend workspace_mount backend_available cgroup_v2 namespace_isolation mount_isolation network_isolation hard_workspace_quota hard_read_only_mount_quota hard_skill_storage_quota bounded_ephemeral_storage inode_quota session_cap managed_process_cap " \
	"the checks are LangBot's, in its order"
is "$(printf '%s\n' "$told" | sed -n '/"details"/,/]/p' | field name | tr '\n' ' ')" \
	"available cgroup_v2 namespace_isolation mount_isolation network_isolation hard_workspace_quota hard_read_only_mount_quota hard_skill_storage_quota bounded_ephemeral_storage inode_quota " \
	"and so are the details"
n=$(grep -c 'name=readiness-.* ready' "$D/log")
host health >/dev/null
is "$(grep -c 'name=readiness-.* ready' "$D/log")" "$n" "asked again at once it is not measured again"
is "$(ls -A "$D/w/tenants")" "" "nothing is left of the trials"
is "$(boxctl ps --names)" "" "and no session"

# ---- everybody waits for one ----
strict '"readiness_cache_sec": 3600' >/dev/null
n=$(grep -c 'name=readiness-.* ready' "$D/log")
for i in 1 2 3 4 5; do
	host health >"$D/h$i" &
	jobs="$jobs $!"
done
wait $jobs
is "$(cat "$D"/h? | field ready | tr '\n' ' ')" "true true true true true " "five who ask at once are all answered"
is $(($(grep -c 'name=readiness-.* ready' "$D/log") - n)) 1 "by one measurement"

# ---- a full house ----
boxctl create --name a >/dev/null
boxctl create --name b >/dev/null
strict >/dev/null
is "$(host health | field ready)" true "a house that is full of sessions is as ready"
boxctl rm a b >/dev/null

# ---- a writable root is filled too ----
strict '"read_only_rootfs": false, "readiness_cache_sec": 0' >/dev/null
told=$(host backend_info)
is "$(failed_checks)" "" "with a writable root everything is bounded, too"

# ---- what LangBot says wrong ----
host init '"has_admission": true, "admission": {"required": false}' >/dev/null
told=$(host backend_info)
is "$(failed_checks)" "configuration " "enforcement cannot be switched off"
like "$(printf '%s\n' "$told" | field error)" "Sandbox admission enforcement cannot be disabled without restarting the Box Runtime" "which is told"
like "$(grant ws-1 1 1 100)" 'Invalid sandbox admission configuration: Sandbox admission enforcement cannot be disabled' "and refused to grants"
host init '"has_backend": true, "backend": "docker", "has_admission": true, "admission": {"required": true}' >/dev/null
told=$(host backend_info)
like "$(failed_checks)" "^required_backend backend_available " "the backend must be the one that is required"
host init '"has_backend": true, "backend": "nsjail", "has_admission": true, "admission_error": "max_sessions must be between 0 and 1"' >/dev/null
told=$(host backend_info)
is "$(failed_checks)" "configuration " "a malformed section fails closed"
like "$(printf '%s\n' "$told" | field error)" "max_sessions must be between 0 and 1" "and tells why"
strict >/dev/null
told=$(host backend_info)
is "$(failed_checks)" "" "a good one mends it"
drop_volumes
done_testing
