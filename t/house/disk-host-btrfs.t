#!/bin/sh
# workspace_quota_mb on btrfs: a subvolume of its own has a limit the kernel keeps, any other directory a watcher.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "only root may limit a subvolume"
command -v mkfs.btrfs >/dev/null || plan skip_all "no mkfs.btrfs here (Debian: btrfs-progs)"
grep -qw btrfs /proc/filesystems || plan skip_all "no btrfs in this kernel"
[ -e /dev/loop-control ] || plan skip_all "no loop devices here"
boxd_config 'spare_sandboxes = 0'
truncate -s 300M "$D/pool"
mkfs.btrfs -q "$D/pool" >/dev/null 2>&1
mkdir "$D/b"
mount -o loop "$D/pool" "$D/b"
btrfs subvolume create "$D/b/sub" >/dev/null
mkdir "$D/b/dir"
boxd_start

boxctl create --name s --host-path "$D/b/sub" --workspace-quota 16 >/dev/null
is "$(disk s hard_bytes)" false "quotas are off: not said to be hard"
like "$(disk s quota)" 'watcher.*quotas are off on this btrfs' "quotas are off: watched, and the reason is told"
boxctl rm s >/dev/null
btrfs quota enable "$D/b"
boxctl create --name s --host-path "$D/b/sub" --workspace-quota 16 >/dev/null
is "$(disk s quota)" "the quota group of its btrfs subvolume" "a subvolume: by its quota group"
is "$(disk s hard_bytes) $(disk s hard_inodes) $(disk s limit_inodes)" "true false 0" "a subvolume: hard for bytes, not for files"
like "$(boxctl exec s -c 'head -c 40000000 /dev/zero >f' 2>&1)" 'quota exceeded' "a subvolume: more bytes are refused"
ok "a subvolume: at the limit" [ "$(stat -c %s "$D/b/sub/f")" -le 16777216 ]
boxctl rm s >/dev/null
rm -f "$D/b/sub/f"
boxctl create --name s --host-path "$D/b/sub" --workspace-quota 32 >/dev/null
boxctl exec s -c 'head -c 20000000 /dev/zero >f'
ok "a subvolume: the next session may have another limit"
rm -f "$D/b/sub/f"

limit() { btrfs qgroup show -r --raw -f --sync "$1" | awk '$1 ~ /^0\// { print $4 }'; }
btrfs subvolume create "$D/b/op" >/dev/null
btrfs qgroup limit 8M "$D/b/op"
boxctl create --name o --host-path "$D/b/op" --workspace-quota 64 >/dev/null
like "$(disk o quota)" 'watcher.*limit that boxd did not set' "an operator's limit: the session is watched"
is "$(limit "$D/b/op")" 8388608 "an operator's limit: it stays"
like "$(boxctl exec o -c 'head -c 40000000 /dev/zero >f' 2>&1)" 'quota exceeded' "an operator's limit: and holds"

boxctl create --name d --host-path "$D/b/dir" --workspace-quota 16 >/dev/null
like "$(disk d quota)" 'watcher.*not a btrfs subvolume of its own' "a plain directory: watched"
is "$(boxctl exec d -t 60 -o json -c 'head -c 40000000 /dev/urandom >f; sync f; sleep 98765' 2>/dev/null | field cause)" disk "a plain directory: the watcher sees it"
boxd_stop
umount "$D/b"
done_testing
