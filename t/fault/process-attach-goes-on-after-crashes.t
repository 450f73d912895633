#!/bin/sh
# What was acknowledged is known after kill -9 of the worker, of the gateway and of the daemon: nothing comes twice, nothing is lost.
. t/lib/sh/boxd.sh
boxd_config 'worker_restarts = 50'
boxd_start
boxctl create --name s --memory 256 >/dev/null
number() { boxctl inspect s -o json 2>/dev/null | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
field() { boxctl process get s "$1" -o json 2>/dev/null | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
standing() { boxctl inspect s 2>/dev/null | grep -Eq 'state: +ready' && [ "$(number worker_pid)" -gt 1 ]; }
kill_worker() { eventually standing && kill -9 "$(number worker_pid)"; }
attach() { timeout -k 5 60 perl t/lib/sh/rpc.pl "$D/run/boxd.sock" --attach '{"session": "s", "process": "lines", "go_on": true}' 2>"$D/told"; }
goes_on_at() { printf 'until 90\n' | attach >/dev/null; sed -n 's/^from //p' "$D/told"; }
wrote() { [ "$(field lines stdout_bytes)" = "$1" ]; }

boxctl process start s lines -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do printf "line %04d\n" $i; done; sleep 98765' >/dev/null
eventually wrote 90
printf 'until 90\nack 20\n' | attach >/dev/null
kill_worker
eventually standing
is "$(goes_on_at)" 20 "worker: the next one knows what was acknowledged to the one before"

# acknowledged while there is no worker, and the client leaves at once
{ echo until 90; kill_worker; echo ack 40; } 2>/dev/null | attach >/dev/null
eventually standing
is "$(goes_on_at)" 40 "worker: what was acknowledged while it was dead counts"

# an attachment that lives through it
mkfifo "$D/orders"
attach <"$D/orders" >"$D/out" & reader=$!
exec 9>"$D/orders"
echo until 90 >&9
attached() { [ "$(field lines attached)" = true ]; }
eventually attached
kill_worker
eventually standing
eventually attached
echo ack 60 >&9
exec 9>&-
wait $reader
is "$(wc -c <"$D/out")" 50 "worker: an attachment that lives through it gets each byte once"
is "$(goes_on_at)" 60 "worker: and what it acknowledges then counts"

vanish "$(pgrep -P "$BOXD_PID" -x box-gateway)"
alive() { boxctl ping >/dev/null 2>&1; }
eventually alive
is "$(goes_on_at)" 60 "gateway: the same"
vanish "$BOXD_PID"
boxd_start
eventually standing
is "$(goes_on_at)" 60 "daemon: the same"
is "$(field lines stdout_dropped)" 0 "nothing was dropped"
done_testing
