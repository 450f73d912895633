#!/bin/sh
# By LangBot's own client: read-only mounts in a sandbox that needs a grant.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
. t/lib/sh/pool.sh
need_pool
langbot_needed $(langbot_since 0.7.13)
langbot_on_volumes sequences admitted
done_testing
