#!/bin/sh
# pause stops every process of a session where it is; resume lets it go on.
. t/lib/sh/boxd.sh
boxd_start
boxctl status | grep -Eq 'walls:.*cgroup\.freeze' || plan skip_all "nothing freezes here"
count() { # prints how far the counter in the session came
	cat "$D/out" | tail -n 1
}
boxctl create --name s >/dev/null
boxctl create --name other >/dev/null
is "$(boxctl pause s)" s "a session without commands can be paused"
is "$(boxctl resume s)" s "and goes on"
boxctl exec s -c 'setsid sh -c "i=0; while :; do i=\$((i + 1)); echo \$i >/tmp/background; sleep 0.02; done" >/dev/null 2>&1 &'
box exec s -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); echo $i; sleep 0.02; done' >"$D/out" 2>"$D/err" &
client=$!
eventually test -s "$D/out"
boxctl pause s >/dev/null
ok "a session with running commands is paused"
like "$(boxctl inspect s)" 'paused: +yes' "inspect says so"
like "$(boxctl inspect s)" 'state: +ready' "it is ready all the same"
like "$(boxctl ps)" '^s +paused' "and ps"
like "$(boxctl inspect other)" 'paused: +no' "the other session is not"
_at=$(cat "$D/out" | wc -l)
sleep 1
is "$(wc -l <"$D/out")" "$_at" "its command says nothing any more"
init=$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
kids=$(pgrep -P "$init" | tr '\n' ' ')
isnt "$kids" "" "its processes are there"
moved() { for p in $kids; do awk '{ sub(/^.*\) /, ""); print $12 + $13 }' "/proc/$p/stat"; done | tr '\n' ' '; }
before=$(moved)
sleep 0.5
is "$(moved)" "$before" "and use no cpu time"
boxctl exec s -- true 2>"$D/e"
is $? 125 "a command is refused"
like "$(cat "$D/e")" 'session s is paused; boxctl resume s' "with the reason and the remedy"
is "$(boxctl pause s)" s "pausing it again is no error"
is "$(boxctl exec other -- echo alive)" alive "the other session answers"
boxctl unpause s >/dev/null
ok "resume has the other name too"
more() { [ "$(wc -l <"$D/out")" -gt "$_at" ]; }
eventually more
ok "the command goes on where it was"
cp "$D/out" "$D/said" # it goes on
is "$(sha256sum <"$D/said")" "$(seq 1 "$(wc -l <"$D/said")" | sha256sum)" "and lost nothing"
was=$(boxctl exec s -- cat /tmp/background)
on() { [ "$(boxctl exec s -- cat /tmp/background)" != "$was" ]; }
eventually on
ok "the background process too"
is "$(boxctl resume s)" s "resuming it again is no error"
boxctl pause nobody 2>"$D/e"
is $? 1 "a session that is not there is refused"
like "$(cat "$D/e")" 'nobody not found' "by name"

# a timeout goes on counting, and kills what is stopped
box exec s -t 2 -c 'touch /tmp/up; (setsid sleep 98765 &); sleep 98765' 2>"$D/e" &
timed=$!
eventually box exec s -- test -e /tmp/up
boxctl pause s >/dev/null
wait $timed
is $? 124 "a timeout kills in a paused session"
box exec s -o json -- true >/dev/null 2>&1
is $? 125 "which stays paused"
boxctl resume s >/dev/null
is "$(boxctl exec s -c 'ps -eo args= | grep -c "[s]leep 98765"')" 0 "nothing of the command is left"

# a cancelled client, and the end
"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -- sleep 98765 2>/dev/null &
cancelled=$!
running() { boxctl inspect s -o json | grep -q '"running": 2'; }
eventually running
boxctl pause s >/dev/null
kill -TERM $cancelled # a shell's background job ignores SIGINT
wait $cancelled
pass "a cancelled command ends in a paused session"
boxctl rm s >/dev/null
ok "a paused session can be deleted"
wait $client
isnt $? 0 "who waited in it is told"
! boxctl ps --names | grep -qx s
ok "and nothing of it is left"

boxctl create --name idle --idle 1 >/dev/null
boxctl pause idle >/dev/null
sleep 2.5
like "$(boxctl ps --names)" '^idle$' "a paused session is not reaped for being idle"
boxctl resume idle >/dev/null
gone() { ! boxctl ps --names | grep -qx idle; }
eventually gone
ok "until it goes on"

# sent in one breath: commands, and a pause that must not catch one of them half born, for init would wait for it
boxctl create --name many >/dev/null
if command -v python3 >/dev/null; then
	for round in 1 2 3 4 5; do
		python3 - "$D/run/boxd.sock" <<-'EOF'
		import socket, sys
		def text(t): return bytes([0xa0 | len(t)]) + t.encode()
		def ask(n, what, fields): return b'\x94\x00' + bytes([n]) + text(what) + fields
		name = text('session') + text('many')
		run = b'\x83' + name + text('command') + text('sleep 98765') + text('timeout_ms') + b'\xcd\x03\xe8'
		c = socket.socket(socket.AF_UNIX)
		c.connect(sys.argv[1])
		c.sendall(b''.join(ask(n, 'exec', run) for n in range(1, 9)) + ask(9, 'pause', b'\x81' + name))
		c.settimeout(60)
		got = b''
		while b'\x94\x01\x09' not in got: # the pause is answered
		    got += c.recv(65536)
		EOF
		none_runs() { boxctl inspect many -o json | grep -q '"running": 0'; }
		eventually none_runs || break
		like "$(boxctl inspect many)" 'paused: +yes' "commands and a pause in one breath, $round: their timeouts kill them while it is paused"
		boxctl resume many >/dev/null
	done
else
	skip 5 "no python3 here to send that at once"
fi

# many at once, pausing and going on while they start
i=0 clients=
while [ $i -lt 8 ]; do
	( n=0; while [ $n -lt 15 ]; do box exec many -c 'sleep 0.01; echo x' 2>/dev/null; n=$((n + 1)); done ) >>"$D/many" &
	clients="$clients $!"
	i=$((i + 1))
done
i=0 bad=0
while [ $i -lt 12 ]; do
	box pause many >/dev/null || bad=$((bad + 1))
	box resume many >/dev/null || bad=$((bad + 1))
	i=$((i + 1))
done
wait $clients
is $bad 0 "pausing while commands start never fails"
is "$(sort -u "$D/many")" x "every command that was taken ran to its end"
is "$(box exec many -- echo alive)" alive "and the session lives on"
is "$(boxctl inspect many -o json | sed -n 's/.*"worker_restarts": \([0-9]*\).*/\1/p')" 0 "without a fall of its worker"

# a command that waits to be measured is not started in a paused session, where init would wait for it
mkdir "$D/w"
if boxctl create --name q --workspace-quota 8 --host-path "$D/w" >/dev/null && scan=$(pgrep -x box-scan -P "$(boxctl inspect q -o json | sed -n 's/.*"worker_pid": \([0-9]*\).*/\1/p')"); then
	kill -STOP "$scan"
	box exec q -- echo ran >"$D/late" 2>&1 &
	late=$!
	waits() { boxctl ps | awk '$1 == "q" { exit $5 != 1 }'; }
	eventually waits
	box pause q >/dev/null
	kill -CONT "$scan"
	eventually grep -q . "$D/late"
	is "$(cat "$D/late")" "boxctl: session q was paused before the command was started; nothing ran" "a command that waited is refused"
	vanish "$(boxctl inspect q -o json | sed -n 's/.*"worker_pid": \([0-9]*\).*/\1/p')"
	eventually box resume q >/dev/null
	is "$(box exec q -- echo ran)" ran "and a worker that was killed then is replaced"
	wait $late
else
	skip 2 "the workspace is not measured here"
fi
done_testing
