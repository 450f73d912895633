#!/bin/sh
# LangBot's skills are verified once; what becomes of the source later changes nothing inside.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all 'mounts source_changes'
done_testing
