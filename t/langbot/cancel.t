#!/bin/sh
# What a lost connection leaves running, and what __cancel_action ends.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_start
langbot cancel
done_testing
