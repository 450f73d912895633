#!/bin/sh
# What upstream's own suites assert, by LangBot's own client.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all acceptance
done_testing
