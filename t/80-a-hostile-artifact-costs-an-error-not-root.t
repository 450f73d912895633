#!/bin/sh
# The same attacks on the artifacts of an ordinary user's boxd.
. t/lib/boxd.sh
. t/lib/artifacts.sh
. t/lib/not_root.sh
mkdir "$D/src"
user_start 'spare_sandboxes = 0'
. t/lib/hostile_artifacts.sh
done_testing
