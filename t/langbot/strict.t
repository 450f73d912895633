#!/bin/sh
# LangBot's own client finds every wall standing: strict readiness on volumes, and its grants used to the end.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
. t/lib/sh/pool.sh
need_pool
langbot_needed
export BOX_STRICT=1
langbot_on_volumes admission
done_testing
