#!/bin/sh
# Where no kernel bounds a workspace strict readiness says so, and what to do; an operator may override it by name.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
mkdir "$D/w" "$D/skills"
boxd_config 'spare_sandboxes = 0'
boxd_start
strict >/dev/null
told=$(host backend_info)
soft=$(failed_checks)
case $soft in *hard_workspace_quota*) ;; *) plan skip_all "a kernel bounds ${TMPDIR:-/tmp}" ;; esac
like "$soft" 'hard_workspace_quota hard_read_only_mount_quota hard_skill_storage_quota inode_quota' "workspaces, skills and inodes are not bounded"
is "$(passed bounded_ephemeral_storage) $(passed mount_isolation) $(passed network_isolation) $(passed namespace_isolation)" \
	"true true true true" "the rest was tried all the same"
like "$(printf '%s\n' "$told" | field error)" 'set pool_workspace_mb in boxd.conf' "it says what to do"
strict '"workspace_quota_mb": 64' >/dev/null
told=$(host backend_info)
is "$(passed hard_workspace_quota)" false "a quota that is only watched is not hard"
is "$(ls -A "$D/w/tenants")" "" "nothing is left of the trials"

host init "\"has_local\": true, \"local\": {\"default_workspace\": \"$D/w\", \"skills_root\": \"$D/skills\", \"allowed_mount_roots\": [\"$D/other\"]}" >/dev/null
told=$(host backend_info)
is "$(passed workspace_mount)" false "a workspace outside of the allowed roots"
like "$(printf '%s\n' "$told" | field error)" 'Managed sandbox workspace is outside box.local.allowed_mount_roots' "is told"
boxd_stop

# ---- by name ----
boxd_config 'unsafe_soft_storage_limits = yes'
boxd_start
strict >/dev/null
told=$(host backend_info)
is "$(failed_checks)" "" "with the operator's word it is ready"
is "$(printf '%s\n' "$told" | field unsafe_soft_storage_limits)" true "which is told"
is "$(printf '%s\n' "$told" | sed -n '/"details"/,/]/p' | grep -A1 '"hard_workspace_quota"' | field passed)" false "the details stay true to what was found"
host init '"has_backend": true, "backend": "docker"' >/dev/null
told=$(host backend_info)
like "$(failed_checks)" 'required_backend .*hard_workspace_quota' "but not with another backend"
boxd_stop
sed -i '/unsafe_soft/d' "$D/boxd.conf"
for value in ' TRUE ' yes On 1; do
	LANGBOT_BOX_ALLOW_UNSAFE_SOFT_STORAGE_LIMITS=$value
	export LANGBOT_BOX_ALLOW_UNSAFE_SOFT_STORAGE_LIMITS
	boxd_start
	is "$(strict >/dev/null; host backend_info | field unsafe_soft_storage_limits)" true "in the environment: '$value'"
	boxd_stop
done
LANGBOT_BOX_ALLOW_UNSAFE_SOFT_STORAGE_LIMITS='yes please'
boxd_start
is "$(strict >/dev/null; host backend_info | field unsafe_soft_storage_limits)" false "and nothing else"
done_testing
