#!/bin/sh
# Idle sessions go, by their own clock; busy and persistent ones stay.
. t/lib/sh/boxd.sh
boxd_config 'idle_ttl_sec = 1'
boxd_start
boxctl create --name idle >/dev/null
boxctl create --name kept --persistent >/dev/null
boxctl create --name long --idle 3600 >/dev/null
boxctl create --name busy >/dev/null
"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec busy -c 'until [ -e /tmp/end ]; do sleep 0.05; done' & busy=$!

gone() { ! boxctl ps --names | grep -qx "$1"; }
eventually gone idle
ok "an idle session is reaped"
like "$(grep 'name=idle gone' "$D/log")" 'idle' "and the log says why"
sleep 1.5 # more than the time to live of what must stay
is "$(boxctl ps --names | tr '\n' ' ')" "kept long busy " "persistent, patient and busy ones stay"
boxctl exec busy -- touch /tmp/end
wait $busy
eventually gone busy
ok "the busy one goes when it is idle"
done_testing
