#!/bin/sh
# The same ways around a watched quota, tried on the boxd of an ordinary user.
. t/lib/sh/boxd.sh
. t/lib/sh/not_root.sh
mkdir "$D/w"
user_start 'spare_sandboxes = 0' 'workspace_entries = 3000'
boxctl create --name s --host-path "$D/w" --workspace-quota 8 >/dev/null
ok "a session with a quota is made"
like "$(disk s quota)" '^a watcher' "which is watched"
. t/lib/sh/quota_tricks.sh
is "$(box exec s -- echo alive)" alive "the session lives on"
done_testing
