#!/bin/sh
# The same links in a workspace, tried on the boxd of an ordinary user.
. t/lib/sh/boxd.sh
. t/lib/sh/not_root.sh
mkdir "$D/ws" "$D/skill" "$D/other"
user_start 'spare_sandboxes = 0'
. t/lib/sh/mount_links.sh
done_testing
