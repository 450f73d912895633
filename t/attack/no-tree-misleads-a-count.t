#!/bin/sh
# What a workspace occupies is counted in trees that were made to mislead: nothing else is looked at, and nobody hangs.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
command -v python3 >/dev/null || plan skip_all "python3 is needed to watch a directory"
W=$D/shared/data/box/default/tenants/ws-9d14934957e7ea8dcfa33291 OTHER=$D/shared/data/box/default/tenants/ws-000000000000000000000000
mkdir -p "$D/shared"
boxd_config 'spare_sandboxes = 0' "langbot_dir = $D/shared"
boxd_start
host init '"has_local": true, "local": {"host_root": "./data/box", "allowed_mount_roots": ["./data/box"]}' >/dev/null
. t/lib/sh/hostile_trees.sh

# ---- who counts is stopped, as a command inside can do it ----
count
stuck=$(files_pid | head -n 1)
kill -STOP "$stuck"
for i in 1 2 3 4; do
	lb storage ws-1 1 >"$D/late$i" &
	late="$late $!"
done
full() { lb storage ws-1 1 >/dev/null && grep -q 'storage analysis: not counted: what session .* holds is being counted 4 times already' "$D/log"; }
eventually full
ok "while four wait for it in a session, no more do"
is "$(says ws-1 1 s 'echo alive')" 'alive\n' "commands run"
wait $late
for i in 1 2 3 4; do
	told=$(cat "$D/late$i")
	[ "$(amount session_temp errors) $(amount workspace errors)" = "1 0" ] || diag "$i: $told"
	[ "$(amount session_temp errors) $(amount workspace errors)" = "1 0" ] && n=$((n + 1))
done
is "$n" 4 "all four are answered without it, though it never goes on"
ok "the log says why" grep -q 'storage analysis: not counted: box-files did not answer in time' "$D/log"
kill -CONT "$stuck"
whole() { count && [ "$(amount session_temp errors)" = 0 ]; }
eventually whole
ok "and when it goes on, it counts again"
done_testing
