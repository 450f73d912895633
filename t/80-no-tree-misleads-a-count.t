#!/bin/sh
# What a workspace occupies is counted in trees that were made to mislead: nothing else is looked at, and nobody hangs.
. t/lib/boxd.sh
. t/lib/langbot.sh
command -v python3 >/dev/null || plan skip_all "python3 is needed to watch a directory"
W=$D/shared/data/box/default/tenants/ws-9d14934957e7ea8dcfa33291 OTHER=$D/shared/data/box/default/tenants/ws-000000000000000000000000
mkdir -p "$D/shared"
boxd_config 'spare_sandboxes = 0' "langbot_dir = $D/shared"
boxd_start
host init '"has_local": true, "local": {"host_root": "./data/box", "allowed_mount_roots": ["./data/box"]}' >/dev/null
. t/lib/hostile_trees.sh
done_testing
