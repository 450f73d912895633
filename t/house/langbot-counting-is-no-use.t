#!/bin/sh
# A storage page that is looked at again and again keeps no session alive, and a count that hangs does not either.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_config 'idle_ttl_sec = 3' 'spare_sandboxes = 0'
boxd_start
create ws-1 1 s >/dev/null
gone() { lb storage ws-1 1 >/dev/null; [ -z "$(listed ws-1 1)" ]; }
eventually gone
ok "a session that is counted all the time ends when it is idle"
ok "for that reason" grep -q 'g1-s is closed: idle' "$D/log"

create ws-1 1 t >/dev/null
lb storage ws-1 1 >/dev/null
for p in $(pgrep -x box-files); do ! _tree "$BOXD_PID" | grep -q "^$p:" || files=$p; done
kill -STOP "$files"
lb storage ws-1 1 >"$D/late" &
late=$!
is "$(says ws-1 1 t 'echo ran')" 'ran\n' "a command runs while a count hangs"
ended() { [ -z "$(listed ws-1 1)" ]; }
eventually ended
ok "after it the session ends when it is idle, though the count still hangs"
wait $late
is "$(sed -n '/"key": "session_temp"/,/}/p' "$D/late" | field errors)" 1 "whoever counted is told"
done_testing
