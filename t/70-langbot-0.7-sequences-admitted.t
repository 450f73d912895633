#!/bin/sh
# By LangBot's own client: read-only mounts in a sandbox that needs a grant.
. t/lib/boxd.sh
. t/lib/client.sh
. t/lib/pool.sh
need_pool
langbot_needed $(langbot_since 0.7.13)
for v in $LANGBOTS; do
	mkdir -p "$D/shared/default" "$D/shared/skills"
	langbot_use "$v"
	langbot_start 'pool_workspace_mb = 64'
	boxctl pool create "$D/shared/skills" --size 16M >/dev/null
	ok "the skills have a volume"
	langbot sequences admitted
	drop_volumes
	langbot_stop
done
done_testing
