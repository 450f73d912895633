#!/bin/sh
# With pool_workspace_mb a grant is taken when its workspace's volume stands, and refused when it cannot.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
need_pool
mkdir -p "$D/w" "$D/skills"
chown 1234:1234 "$D/w"
boxd_config 'spare_sandboxes = 0' 'pool_workspace_mb = 64' 'workspace_entries = 2000' 'unsafe_soft_storage_limits = yes'
boxd_start
strict '"readiness_cache_sec": 3600' >/dev/null
one=$D/w/tenants/ws-9d14934957e7ea8dcfa33291
work() { lb exec "$1" "$2" "\"spec\": {\"session_id\": \"s\", \"cmd\": \"$3\", \"workdir\": \"/workspace\"}"; }

# ---- files that were there before ----
mkdir -p "$one/inbox"
echo letter >"$one/inbox/1"
chown -R 1234:1234 "$D/w/tenants"
is "$(grant ws-1 1 1 200 | field revision)" 1 "a grant"
ok "its workspace is a volume now" mounted "$one"
is "$(cat "$one/inbox/1") $(stat -c %u "$one/inbox/1") $(stat -c %u "$one")" "letter 1234 1234" "with the files that LangBot had put there"
is "$(ls -A "$D/w/tenants" | sort | tr '\n' ' ')" ".before-volume-ws-9d14934957e7ea8dcfa33291 ws-9d14934957e7ea8dcfa33291 " "the directory as it was stays beside it"
is "$(work ws-1 1 'cat inbox/1; echo answer >out' | field stdout)" 'letter\n' "the sandbox works in it"
is "$(cat "$one/out") $(stat -c %u "$one/out")" "answer 1234" "and the host sees what it writes, as the owner's"
volume_of() { boxctl pool status -o json | grep -A8 "\"path\": \"$1\""; }
ok "it has no more files than workspace_entries says" [ "$(volume_of "$one" | field inodes)" -le 2100 ]
n=$(ls "$D/state/pool" | wc -l)
grant ws-1 1 1 250 >/dev/null
is "$(ls "$D/state/pool" | wc -l)" "$n" "the next grant finds it"
is "$(listed ws-1 1)" "global " "and its session"

# ---- somebody unmounts it ----
grant ws-1 1 2 200 >/dev/null
boxctl rm "$(boxctl ps --names)" >/dev/null
umount "$one"
grant ws-1 1 2 250 >/dev/null
ok "one that was unmounted is mounted again" mounted "$one"
is "$(cat "$one/out")" answer "with its files"

# ---- a smaller quota ----
strict '"workspace_quota_mb": 32' >/dev/null
grant ws-2 1 1 200 >/dev/null
two=$(volumes | grep -v 9d14934957e7ea8dcfa33291)
is "$(volume_of "$two" | field size_mb)" 32 "a policy with a smaller quota makes a smaller volume"
work ws-2 1 true >/dev/null
is "$(disk "$(boxctl ps --names)" quota)" "the size of its own file system" "which is that quota"
strict '"workspace_quota_mb": 8' >/dev/null
like "$(grant ws-3 1 1 200)" 'a volume of 8 MiB is too small' "one that no volume can have is refused"
like "$(host backend_info | field ready)" true "though the operator's word makes it ready"
strict '"readiness_cache_sec": 3600' >/dev/null
host health >/dev/null

# ---- it cannot be made ----
boxctl pool create "$D/x" --size 16M >/dev/null
chattr +i "$D/state/pool" 2>/dev/null
if [ $? = 0 ]; then
	like "$(grant ws-4 1 1 200)" 'boxctl: (make|take|write) .*: Operation not permitted' "where no volume can be made the grant is refused"
	like "$(work ws-4 1 true)" 'Sandbox admission grant is missing' "and lets nobody in"
	chattr -i "$D/state/pool"
else
	skip 2 "no immutable directories on ${TMPDIR:-/tmp}"
fi
is "$(grant ws-4 1 1 200 | field revision)" 1 "when it can, it is taken"

# ---- a restart ----
boxd_stop
umount "$one"
boxd_start
ok "after a boot the volumes are there before LangBot is" mounted "$one"
drop_volumes
done_testing
