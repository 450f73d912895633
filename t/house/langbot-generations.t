#!/bin/sh
# A workspace that was placed anew: what is of an older generation is told so and ended, and cannot come back.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start

create ws-1 1 old >/dev/null
create ws-2 1 other >/dev/null
run ws-1 1 busy 'exec sleep 98765' >"$D/first" &
first=$!
run ws-2 1 other 'until [ -e /tmp/go ]; do sleep 0.05; done; echo untouched' >"$D/other" &
other=$!
eventually runs 98765
is "$(listed ws-1 2)" "" "the next generation begins with nothing"
wait $first
is "$(cat "$D/first")" "boxctl: Stale Box placement generation" "who still waits for the old one is told"
ok "what ran in it is dead" stopped 98765
is "$(boxctl ps --names | grep -c '^ws-9d14934957e7ea8dcfa33291')" 0 "its sessions are gone"
is "$(run ws-1 1 old true)" "boxctl: Stale Box placement generation" "the old generation is refused"
is "$(listed ws-1 1)" "" "whatever it asks"
is "$(lb status ws-1 1)" "boxctl: Stale Box placement generation" "its status, too"
is "$(listed ws-2 1)" "other " "another workspace has its own generation"
run ws-2 1 other 'touch /tmp/go' >/dev/null
wait $other
is "$(field stdout <"$D/other")" 'untouched\n' "and its command goes on"
is "$(says ws-1 2 old 'echo new')" 'new\n' "the new generation works"

# one that is refused for its data counts all the same
is "$(lb invalid ws-1 3 | tr -d ' \n')" '{}' "an invalid request of generation 3"
is "$(run ws-1 2 old true)" "boxctl: Stale Box placement generation" "ends generation 2"
is "$(boxctl ps --names | grep -c '^ws-9d14934957e7ea8dcfa33291')" 0 "with its sessions"

# many that race for the next one
for g in 4 5 6 7; do
	run ws-1 $g r 'echo $$' >"$D/race.$g" &
	racers="$racers $!"
done
wait $racers
is "$(says ws-1 7 r 'echo last')" 'last\n' "the last generation stands"
is "$(boxctl ps --names | grep '^ws-9d14934957e7ea8dcfa33291')" ws-9d14934957e7ea8dcfa33291-g7-r "and no other does"

# nothing advances, and one of an older generation is there, as a restart may find one
boxctl create --name ws-9d14934957e7ea8dcfa33291-g5-late >/dev/null
is "$(says ws-1 7 r 'echo again')" 'again\n' "the current generation works"
is "$(boxctl ps --names | grep '^ws-9d14934957e7ea8dcfa33291')" ws-9d14934957e7ea8dcfa33291-g7-r "and the old one was ended first"

# so many workspaces and no more
host init '"has_limits": true, "limits": {"max_admission_records": 2}, "limits_given": ["max_admission_records"]' >/dev/null
is "$(run ws-3 1 s true)" "boxctl: Box generation fence capacity reached; refusing an unbounded Workspace allocation" "as many workspaces as box_init says"
is "$(says ws-2 1 other 'echo known')" 'known\n' "known ones go on"
done_testing
