#!/bin/sh
# Whoever owns the source of an artifact turns it into links, pipes, devices, endless and changing files: that costs an error, and nothing else.
. t/lib/sh/boxd.sh
. t/lib/sh/artifacts.sh
boxd_config 'spare_sandboxes = 0'
boxd_start
own() { :; }
. t/lib/sh/hostile_artifacts.sh
done_testing
