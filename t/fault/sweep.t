#!/bin/sh
# Everything is killed at once: the next start sweeps what is left.
. t/lib/sh/boxd.sh
boxd_config 'spare_sandboxes = 0' # their state would be in the way
boxd_start
boxctl create --name a >/dev/null
boxctl create --name b >/dev/null
boxctl exec a -c 'setsid sleep 98765 >/dev/null 2>&1 &'
inits=$(boxctl ps -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
workers=$(boxctl ps -o json | sed -n 's/.*"worker_pid": \([0-9]*\).*/\1/p')
kill -STOP $workers # no worker shall tidy up
vanish "$BOXD_PID"
kill -9 $inits $workers
mkdir -p "$D/state/sessions/12345" # and one that never got as far as a state file
boxd_config 'spare_sandboxes = 0' # their state would be in the way
boxd_start
swept() { [ -z "$(ls "$D/state/sessions")" ]; }
eventually swept
ok "the state of dead sessions is removed"
is "$(boxctl ps --names)" "" "none is listed"
is "$(_left_cgroups | grep -c '/s[0-9]')" 0 "their cgroups are gone"
is "$(boxctl run -- echo works)" works "boxd works"
done_testing
