#!/bin/sh
# Skills by LangBot's own client.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
langbot_start "langbot_dir =" # skills are in the state directory then, and can be mounted from there
langbot skills
done_testing
