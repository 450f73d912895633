#!/bin/sh
# Without root there are no volumes: that is said, and readiness is tried all the same.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
mkdir "$D/bin" "$D/w" "$D/skills"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
boxd_config 'pool_workspace_mb = 64' 'spare_sandboxes = 0'
chown -R 65534:65534 "$D"
setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/boxd.conf" \
	</dev/null >"$D/log" 2>&1 &
BOXD_PID=$!
eventually boxctl ping >/dev/null 2>&1
said=$(boxctl pool create "$D/v" --size 16M 2>&1)
is $? 1 "no volume"
is "$said" "boxctl: volumes need a boxd that is root: nobody else can mount one for others to see" "and it says why"
is "$(boxctl pool status -o json | tr -d ' \n')" '{"volumes":[],"truncated":false}' "there is none"
strict >/dev/null
told=$(host backend_info)
is "$(printf '%s\n' "$told" | field ready)" false "it is not ready"
like "$(printf '%s\n' "$told" | field error)" 'workspace_mount: .*(Operation not permitted|Permission denied|root)' "and it says why"
is "$(ls -A "$D/w/tenants" 2>/dev/null)" "" "nothing is left of the trial"
done_testing
