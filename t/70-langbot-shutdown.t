#!/bin/sh
# boxd stops: LangBot is told so, and nothing stays.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
langbot_start
langbot shutdown
boxd_stop
is "$BOXD_STATUS" 0 "boxd ended in order"
done_testing
