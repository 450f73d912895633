#!/bin/sh
# The envelope, the handshake and the probes of LangBot's door.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed "$(langbot_oldest)" "$(langbot_newest)" # their libraries differ; the messages are our own
langbot_all wire
done_testing
