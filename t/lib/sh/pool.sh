# Volumes and strict readiness in tests.
#
#	need_pool                     or the test is skipped
#	strict [policy fields]        box_init with $D/w and $D/skills, grants required
#	passed hard_workspace_quota   of the last "told=$(host backend_info)"
#	grant ws-1 1 3 100            generation 1, revision 3, for 100 seconds
#	drop_volumes                  before done_testing
. t/lib/sh/langbot.sh

need_pool() {
	[ "$(id -u)" = 0 ] || plan skip_all "only root can mount a volume"
	[ -x /usr/sbin/mkfs.ext4 ] || [ -x /sbin/mkfs.ext4 ] || plan skip_all "no mkfs.ext4 here (Debian: e2fsprogs)"
	[ -e /dev/loop-control ] || plan skip_all "no loop devices here"
}

strict() {
	host init "\"has_backend\": true, \"backend\": \"nsjail\", \"has_local\": true, \"local\": {\"default_workspace\": \"$D/w\",
		\"skills_root\": \"$D/skills\", \"allowed_mount_roots\": [\"$D\"]}, \"has_admission\": true, \"admission\": {\"required\": true${1:+, $1}}"
}

passed() { printf '%s\n' "$told" | sed -n '/"checks"/,/]/p' | grep -A1 "\"$1\"" | field passed; }
failed_checks() { printf '%s\n' "$told" | sed -n '/"checks"/,/]/p' | grep -B1 '"passed": false' | field name | tr '\n' ' '; }

now() { date +%s; }
grant() { # workspace generation revision seconds [max_sessions] [max_managed_processes] [instance]
	host upsert_grant "\"grant\": {\"instance\": \"${7:-inst-1}\", \"workspace\": \"$1\", \"generation\": $2, \"revision\": $3,
		\"max_sessions\": ${5:-1}, \"max_managed_processes\": ${6:-0}, \"expires_us\": $(($(now) + $4))000000}"
}
revoke() { # workspace revision
	host revoke_grant "\"instance\": \"inst-1\", \"workspace\": \"$1\", \"revision\": $2"
}

mounted() { grep -q " $1 " /proc/self/mounts; }
volumes() { boxctl pool status -o json | field path; }
drop_volumes() {
	for _s in $(boxctl ps --names); do boxctl rm "$_s" >/dev/null; done
	# box-store has the skills root open for as long as LangBot names it
	host init "\"has_local\": true, \"local\": {\"default_workspace\": \"$D/w\", \"skills_root\": \"$D/elsewhere\", \"allowed_mount_roots\": [\"$D\"]}" >/dev/null
	for _v in $(volumes); do boxctl pool remove --force "$_v"; done
}

# langbot_on_volumes SCRIPT [SCENARIO...]: with each of $LANGBOTS, each time a new boxd whose workspaces and skills are on volumes
langbot_on_volumes() {
	for v in $LANGBOTS; do
		mkdir -p "$D/shared/default" "$D/shared/skills"
		langbot_use "$v"
		langbot_start 'pool_workspace_mb = 64'
		boxctl pool create "$D/shared/skills" --size 16M >/dev/null
		ok "the skills have a volume"
		langbot "$@"
		drop_volumes
		langbot_stop
	done
}
