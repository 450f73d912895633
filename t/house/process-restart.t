#!/bin/sh
# Restart policies: never, on failure, always; slower each time; too often is a failure.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
is_in() { [ "$(field "$1" state)" = "\"$2\"" ]; }
count() { boxctl exec s -c "cat $1 2>/dev/null | wc -l | tr -d ' '"; }

boxctl process start s never -- sh -c 'echo x >>never; exit 1' >/dev/null
eventually is_in never exited
boxctl process start s good --restart on-failure -- sh -c 'echo x >>good; exit 0' >/dev/null
eventually is_in good exited
is "$(count good)" 1 "on-failure: a good end is an end"

# fails twice, then runs; its output is one stream over all its lives
boxctl process start s twice --restart on-failure -- sh -c 'echo x >>twice; n=$(wc -l <twice); echo "life $n"; echo "err $n" >&2; [ $n -ge 3 ] || exit 9; sleep 98765' >/dev/null
third() { [ "$(field twice restarts)" = 2 ] && is_in twice running && [ "$(boxctl process logs s twice 2>/dev/null | tail -n 1)" = "life 3" ]; }
eventually third
ok "on-failure: a bad end is followed by another life"
is "$(boxctl process logs s twice 2>/dev/null | tr '\n' ' ')" "life 1 life 2 life 3 " "its output goes on where it was"
is "$(boxctl process logs s twice 2>&1 >/dev/null | tr '\n' ' ')" "err 1 err 2 err 3 " "on both streams"
is "$(field twice exit_code)" 9 "how it ended last is told"
is "$(count never)" 1 "never: no second life"

# an attachment lasts over lives
boxctl process start s lives --restart always --restart-limit 100 -- sh -c 'echo x >>lives; read line; echo "$line $(wc -l <lives | tr -d " ")"' >/dev/null
"$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s lives >"$D/lives" 2>/dev/null & reader=$!
for i in 1 2 3; do
	alive() { is_in lives running && [ "$(field lives restarts)" = $((i - 1)) ]; }
	eventually alive
	echo "line" | boxctl process write s lives
	eventually grep -qx "line $i" "$D/lives"
done
is "$(tr '\n' ' ' <"$D/lives")" "line 1 line 2 line 3 " "always: an attached reader and a writer see all lives"
boxctl process stop s lives >/dev/null
wait $reader
ok "stop ends it for good, also between two lives"

# too often: failed, and left alone
boxctl process start s often --restart always --restart-limit 3 --restart-window 600 -- sh -c 'echo x >>often; exit 2' >/dev/null
eventually is_in often failed
is "$(count often)" 4 "more ends than the limit: no more lives"
is "$(field often restarts)" 3 "they are counted"
like "$(field often error)" 'ended 4 times within 600 s' "and the reason is told"
like "$(boxctl status)" 'processes: +1' "a failed one does not count as running"
boxctl process start s often -- sleep 98765 >/dev/null
is "$(field often state)" '"running"' "it can be started anew"

boxctl process start s nofile --restart on-failure --restart-limit 1 -- /nowhere 2>/dev/null
eventually is_in nofile failed
like "$(field nofile error)" '/nowhere: No such file' "what cannot be started is not tried for ever"

# stopped while it waits for its next life
boxctl process start s waits --restart always --restart-limit 100 -- false >/dev/null
eventually is_in waits backoff
boxctl process stop s waits -o json >"$D/stop"
like "$(cat "$D/stop")" '"state": "exited"' "one that waits for its next life is stopped at once"
done_testing
