#!/bin/sh
# What happens around an agent's command: its session goes, a worker or the gateway dies, boxd is replaced.
. t/lib/sh/boxd.sh
mkdir "$D/root"
boxd_config "agent.mount_roots = $D/root"
boxd_start
say() { box call agent_exec "{\"command\": \"$2\", \"session_id\": \"$1\"${3:+, $3}}" -o json 2>&1; }
start() { # session: a command that runs until there is /tmp/go, in the background; its answer goes to $D/out
	"$BUILD/boxctl" --socket "$D/run/boxd.sock" call agent_exec \
		"{\"command\": \"touch /tmp/began; until [ -e /tmp/go ]; do sleep 0.02; done; echo came\", \"session_id\": \"$1\"}" -o json >"$D/out" 2>&1 &
	client=$!
	_session=agent@$1
	eventually began
}
began() { boxctl exec "$_session" -- test -e /tmp/began 2>/dev/null; }

start s
boxctl rm agent@s >/dev/null
wait $client
like "$(cat "$D/out")" '^boxctl: session agent@s is closed: deleted$' "a session that is removed under it is told"
is "$(say s 'echo new' | field stdout)" new "the next command has a new one"

start w
kill -9 "$(boxctl inspect agent@w -o json | field worker_pid)"
boxctl exec agent@w -- touch /tmp/go
wait $client
is "$(field stdout <"$D/out")" came "a worker that dies is replaced, and the command goes on"

start g
gateway=$(sed -n 's/.*gateway=\([0-9]*\) ready.*/\1/p' "$D/log" | tail -n 1)
kill -9 "$gateway"
wait $client
isnt $? 0 "with the gateway its client goes"
idle() { boxctl inspect agent@g -o json 2>/dev/null | grep -q '"running": 0'; }
eventually idle
ok "and its command"
is "$(say g 'echo back' | field stdout)" back "the session stays"

# many at once in one session that a timeout ends: each is answered, and the next finds a session
i=0
while [ $i -lt 4 ]; do
	box call agent_exec '{"command": "sleep 98765", "session_id": "t", "timeout_sec": 1}' -o json >"$D/out.$i" 2>&1 &
	jobs="$jobs $!"
	i=$((i + 1))
done
wait $jobs
is "$(cat "$D"/out.[0-3] | grep -cE '"status": "timed_out"|session agent@t is (closed|being deleted)')" 4 "all of them are answered"
is "$(say t 'echo after' | field stdout)" after "and the next one runs"

# while one is going, which takes a stopped worker long, the next waits for it
worker=$(boxctl inspect agent@t -o json | field worker_pid)
kill -STOP "$worker"
boxctl rm agent@t >/dev/null &
rm=$!
closing() { boxctl inspect agent@t -o json | grep -q '"state": "closing"'; }
eventually closing
say t 'echo anew' >"$D/anew" &
next=$!
sleep 0.3 # so that it has come; later would do as well
kill -CONT "$worker"
wait $rm $next
is "$(field stdout <"$D/anew")" anew "a session that is on its way out is waited for"

say r 'echo mark > /tmp/mark' "\"host_path\": \"$D/root\"" >/dev/null
vanish "$BOXD_PID"
boxd_start
is "$(say r 'cat /tmp/mark' "\"host_path\": \"$D/root\"" | field stdout)" mark "another boxd finds the session as it was"
is "$(boxctl ps --names | grep -c agent@r)" 1 "and no second one"
done_testing
