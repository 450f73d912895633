#!/bin/sh
# Whoever owns the source of an artifact turns it into links, pipes, devices, endless and changing files: that costs an error, and nothing else.
. t/lib/boxd.sh
. t/lib/artifacts.sh
boxd_config 'spare_sandboxes = 0'
boxd_start
own() { :; }
. t/lib/hostile_artifacts.sh
done_testing
