#!/bin/sh
# box_init by LangBot's own client: another backend, mistakes that change nothing, the marker of a shared volume.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all init
done_testing
