#!/bin/sh
# A command leaves a link to one of init's descriptors: no later command starts there.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "an ordinary user's boxd is tried by t/attack/no-workdir-leads-outside-not-root.t"
mkdir -m 777 "$D/ws"
boxd_config 'spare_sandboxes = 0'
boxd_start
. t/lib/sh/workdir_links.sh
done_testing
