#!/bin/sh
# Imports and exports of LangBot's size, through its own client.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
boxd_config 'langbot.output_bytes = 16777216'
langbot_start
langbot large
done_testing
