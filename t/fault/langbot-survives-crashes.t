#!/bin/sh
# kill -9 of boxd or of the gateway: sessions stay, the fence holds, box_init is remembered; a spoiled journal stops the start.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start
host init '"has_limits": true, "limits": {"max_sessions": 5}, "limits_given": ["max_sessions"], "has_backend": true, "backend": "nsjail"' >/dev/null
run ws-1 3 s 'echo kept >/tmp/f' >/dev/null
lb process_start ws-1 3 "$(process s p), \"command\": \"cat\", \"cwd\": \"/\"" >/dev/null
run ws-2 1 t true >/dev/null
vanish "$BOXD_PID"
boxd_start
back() { [ "$(says ws-1 3 s 'cat /tmp/f')" = 'kept\n' ]; }
eventually back
ok "the session is the same"
is "$(lb process_get ws-1 3 "$(process s p)" | field state)" running "so is its process"
is "$(run ws-1 2 s true)" "boxctl: Stale Box placement generation" "an old generation is still refused"
is "$(lb status ws-1 3 | field max_sessions) $(lb status ws-1 3 | field backend)" "5 nsjail" "limits and backend are known"
is "$(listed ws-2 1)" "t " "the other workspace has its own"

# a torn record is dropped, the others hold
vanish "$BOXD_PID"
printf '\100\0\0' >>"$D/state/journal/tenancy"
boxd_start
like "$(cat "$D/log")" "journal/tenancy: the last record was not written whole" "a torn record is told"
is "$(run ws-1 2 s true)" "boxctl: Stale Box placement generation" "and forgets nothing else"

# the gateway dies under a command
"$BUILD/boxctl" --socket "$D/run/boxd.sock" call box_exec '{"context": {"instance": "inst-1", "workspace": "ws-1", "generation": 3}, "spec": {"session_id": "s", "cmd": "exec sleep 98767", "workdir": "/tmp"}}' >/dev/null 2>&1 &
client=$!
eventually runs 98767
gateway=$(sed -n 's/.*gateway=\([0-9]*\) ready.*/\1/p' "$D/log" | tail -n 1)
kill -9 "$gateway"
wait $client
eventually stopped 98767
ok "a command whose client is cut off is killed"
eventually back
ok "the session stays"
is "$(lb process_get ws-1 3 "$(process s p)" | field state)" running "and its process"

# a worker dies under a command
run ws-1 3 s 'until [ -e /tmp/go ]; do sleep 0.05; done; echo through' >"$D/first" &
first=$!
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock inspect ws-9d14934957e7ea8dcfa33291-g3-s -o json | grep -q '\"running\": 1'"
kill -9 "$(boxctl inspect ws-9d14934957e7ea8dcfa33291-g3-s -o json | field worker_pid)"
run ws-1 3 s 'touch /tmp/go' >/dev/null
wait $first
is "$(field stdout <"$D/first")" 'through\n' "a command goes on without its worker"
host shutdown >/dev/null
boxd_stop

# damage
cp "$D/state/journal/tenancy" "$D/good"
perl -e 'open F, "+<", $ARGV[0]; seek F, 30, 0; print F "XXXX"' "$D/state/journal/tenancy"
"$BUILD/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/boxd.conf" >"$D/said" 2>&1
isnt $? 0 "with a damaged journal boxd does not start"
like "$(cat "$D/said")" "$D/state/journal/tenancy cannot be read, record 1" "and names the file"
cp "$D/good" "$D/state/journal/tenancy"
boxd_start
is "$(run ws-1 2 s true)" "boxctl: Stale Box placement generation" "whole again, it is read"
done_testing
