#!/bin/sh
# The envelope, the handshake and the probes of LangBot's door.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
langbot_start
langbot wire
done_testing
