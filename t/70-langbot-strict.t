#!/bin/sh
# LangBot's own client finds every wall standing: strict readiness on volumes, and its grants used to the end.
. t/lib/boxd.sh
. t/lib/client.sh
. t/lib/pool.sh
need_pool
langbot_needed
export BOX_STRICT=1
langbot_on_volumes admission
done_testing
