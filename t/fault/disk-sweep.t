#!/bin/sh
# Workspaces on a disk after a crash: the sandbox that lives keeps its own, and nothing of a dead one is left.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "only root's boxd has workspaces on a disk"
[ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null || plan skip_all "no loop devices or no mkfs.ext4 here"
loops() { losetup -a | grep -F "$D/state"; }
no_loops() { [ -z "$(loops)" ]; }
ready() { boxctl inspect "$1" -o json 2>/dev/null | grep -q '"state": "ready"'; }
swept() { [ -z "$(ls "$D/state/sessions")" ]; }
boxd_config 'spare_sandboxes = 0' 'workspace_backend = loop'
boxd_start
boxctl create --name a --workspace-size 32 >/dev/null
boxctl exec a -c 'echo kept >file'

# ---- the worker ----
kill -9 "$(boxctl inspect a -o json | field worker_pid)"
restarted() { boxctl inspect a -o json | grep -q '"worker_restarts": 1' && ready a; }
eventually restarted
is "$(boxctl exec a -- cat file)" kept "worker killed: the workspace is there"
is "$(disk a workspace)" loop "worker killed: and told"
ok "worker killed: its limit too" [ "$(disk a limit_bytes)" -ge 33554432 ]

# ---- the daemon ----
vanish "$BOXD_PID"
boxd_start
eventually ready a
is "$(boxctl exec a -- cat file)" kept "daemon killed: the workspace is there"
is "$(disk a workspace)" loop "daemon killed: and told"

# ---- all at once ----
init=$(boxctl inspect a -o json | field init_pid)
worker=$(boxctl inspect a -o json | field worker_pid)
dir=$D/state/sessions/$(boxctl inspect a -o json | field id)
kill -STOP "$worker"
vanish "$BOXD_PID"
kill -9 "$init" "$worker"
: >"$dir/workspace.img" # as if it had died between making the image and taking its name away
eventually no_loops
ok "all killed: the loop device is gone, without anybody's help"
boxd_start
eventually swept
ok "all killed: the image too, with the next start"
boxctl create --name b --workspace-size 32 >/dev/null
boxd_stop
eventually no_loops
ok "stopped: no loop device"

# ---- btrfs, whose subvolumes do not go by themselves ----
if command -v mkfs.btrfs >/dev/null && grep -qw btrfs /proc/filesystems; then
	sed -i '/^workspace_backend/d' "$D/boxd.conf"
	boxd_config 'workspace_backend = btrfs'
	truncate -s 300M "$D/pool"
	mkfs.btrfs -q "$D/pool" >/dev/null 2>&1
	rm -rf "$D/state"
	mkdir "$D/state"
	mount -o loop "$D/pool" "$D/state"
	btrfs quota enable "$D/state"
	boxd_start
	boxctl create --name a --workspace-size 32 >/dev/null
	boxctl exec a -c 'echo kept >file'
	init=$(boxctl inspect a -o json | field init_pid)
	worker=$(boxctl inspect a -o json | field worker_pid)
	kill -STOP "$worker"
	vanish "$BOXD_PID"
	kill -9 "$init" "$worker"
	is "$(btrfs subvolume list "$D/state" | wc -l)" 1 "btrfs: all killed"
	boxd_start
	eventually swept
	is "$(btrfs subvolume list "$D/state" | wc -l)" 0 "btrfs: swept with the next start"
	boxd_stop
	umount "$D/state"
else
	skip 2 "no btrfs here"
fi
done_testing
