#!/bin/sh
# Skills by LangBot's own client, in the versions that keep skills in Box.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_until 0.7.12)
langbot_all skills "langbot_dir =" # skills are in the state directory then, and can be mounted from there
done_testing
