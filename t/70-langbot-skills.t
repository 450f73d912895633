#!/bin/sh
# Skills by LangBot's own client.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
langbot_start
langbot skills
done_testing
