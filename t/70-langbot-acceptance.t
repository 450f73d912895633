#!/bin/sh
# What upstream's own suites assert, by LangBot's own client.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
langbot_start 'network_on = loopback' # where a network is refused at once, so is the conflict with a session that has none
langbot acceptance
done_testing
