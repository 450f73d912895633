#!/bin/sh
# LangBot's large attachments go in with a command and out with its output.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all large_files 'langbot.output_bytes = 16777216'
done_testing
