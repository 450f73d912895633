#!/bin/sh
# The same links, tried on the boxd of an ordinary user.
. t/lib/sh/boxd.sh
. t/lib/sh/not_root.sh
mkdir "$D/ws"
user_start 'spare_sandboxes = 0'
. t/lib/sh/workdir_links.sh
done_testing
