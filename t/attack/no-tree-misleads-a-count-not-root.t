#!/bin/sh
# The same trees, counted by the boxd of an ordinary user.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
. t/lib/sh/not_root.sh
command -v python3 >/dev/null || plan skip_all "python3 is needed to watch a directory"
W=$D/shared/data/box/default/tenants/ws-9d14934957e7ea8dcfa33291 OTHER=$D/shared/data/box/default/tenants/ws-000000000000000000000000
mkdir -p "$D/shared"
user_start 'spare_sandboxes = 0' "langbot_dir = $D/shared"
host init '"has_local": true, "local": {"host_root": "./data/box", "allowed_mount_roots": ["./data/box"]}' >/dev/null
. t/lib/sh/hostile_trees.sh
done_testing
