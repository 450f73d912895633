#!/bin/sh
# LangBot comes back after the gateway is killed, and finds everything.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all reconnect
done_testing
