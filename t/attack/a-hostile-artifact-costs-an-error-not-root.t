#!/bin/sh
# The same attacks on the artifacts of an ordinary user's boxd.
. t/lib/sh/boxd.sh
. t/lib/sh/artifacts.sh
. t/lib/sh/not_root.sh
mkdir "$D/src"
user_start 'spare_sandboxes = 0'
. t/lib/sh/hostile_artifacts.sh
done_testing
