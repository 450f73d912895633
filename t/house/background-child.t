#!/bin/sh
# A background child that holds the pipe does not hold up the reply.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null

# the child ends only when the reply is already here
is "$(boxctl exec s -c '(until [ -e end ]; do sleep 0.02; done; echo late >note) & echo now')" now "streamed: the reply comes"
is "$(boxctl exec s --no-stream -c '(until [ -e end ]; do sleep 0.02; done) & echo now')" now "kept: the reply comes"
is "$(boxctl exec s -c 'ps -eo args= | grep -c "[s]leep 0.02"' | tr -d ' ' | grep -c '[1-9]')" 1 "the children live on"
boxctl exec s -- touch end
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock exec s -- cat note >/dev/null 2>&1"
ok "a child that writes to its old pipe later is not killed by it"
done_testing
