#!/bin/sh
# boxd stops: LangBot is told so, and nothing stays.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
for v in $LANGBOTS; do
	langbot_use "$v"
	langbot_start
	langbot shutdown
	langbot_stop
	is "$BOXD_STATUS" 0 "boxd ended in order"
done
done_testing
