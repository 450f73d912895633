#!/bin/sh
# By LangBot's own client: what a session does, and what a workspace occupies.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all 'sequences running_and_idle storage'
done_testing
