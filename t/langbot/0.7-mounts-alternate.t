#!/bin/sh
# Two runs of LangBot in one session, 200 rounds with changing mounts, beside a managed process and its relay.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all 'mounts rounds'
done_testing
