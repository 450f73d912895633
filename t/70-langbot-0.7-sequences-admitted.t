#!/bin/sh
# By LangBot's own client: read-only mounts in a sandbox that needs a grant.
. t/lib/boxd.sh
. t/lib/client.sh
. t/lib/pool.sh
need_pool
langbot_needed $(langbot_since 0.7.13)
langbot_on_volumes sequences admitted
done_testing
