#!/bin/sh
# By LangBot's own client: mounts that change from call to call, and the sandbox that stays.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all 'sequences mounts_come_and_go different_sets_at_once read_only ordinary_mount'
done_testing
