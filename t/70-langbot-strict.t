#!/bin/sh
# LangBot's own client finds every wall standing: strict readiness on volumes, and its grants used to the end.
. t/lib/boxd.sh
. t/lib/client.sh
. t/lib/pool.sh
need_pool
langbot_needed
export BOX_STRICT=1
for v in $LANGBOTS; do
	mkdir -p "$D/shared/default" "$D/shared/skills"
	langbot_use "$v"
	langbot_start 'pool_workspace_mb = 64'
	boxctl pool create "$D/shared/skills" --size 16M >/dev/null
	ok "the skills have a volume"
	langbot admission
	drop_volumes
	langbot_stop
done
done_testing
