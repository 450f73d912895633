#!/bin/sh
# The same links, tried on the boxd of an ordinary user.
. t/lib/boxd.sh
. t/lib/not_root.sh
mkdir "$D/ws"
user_start 'spare_sandboxes = 0'
. t/lib/workdir_links.sh
done_testing
