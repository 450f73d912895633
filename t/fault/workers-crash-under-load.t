#!/bin/sh
# Workers are killed at every moment of a command's life: each command still runs exactly once,
# and its client gets all of its output and its own exit code.
. t/lib/sh/boxd.sh
boxd_config 'worker_restarts = 1000' 'spare_sandboxes = 0'
boxd_start
for s in a b c; do boxctl create --name $s >/dev/null; done
seq 1 3000 >"$D/wanted"

one() { # session, number: a command that tells how often it ran
	"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec "$1" -c "echo x >>ran.$2; seq 1 3000; exit 5" >"$D/out.$1.$2" 2>"$D/err.$1.$2"
	echo $? >"$D/code.$1.$2"
}
n=0
while [ $n -lt 15 ]; do
	n=$((n + 1)) pids=
	for s in a b c; do
		one $s $n &
		pids="$pids $!"
	done
	# a little later each time: before the spawn, in the middle of the output, at the end
	sleep "0.00$((n % 10))"
	kill -9 $(pgrep -P "$BOXD_PID" -x box-session) 2>/dev/null
	wait $pids
done
bad=0
for s in a b c; do
	n=0
	while [ $n -lt 15 ]; do
		n=$((n + 1))
		if [ "$(cat "$D/code.$s.$n")" != 5 ] || ! cmp -s "$D/out.$s.$n" "$D/wanted"; then
			bad=$((bad + 1))
			diag "$s $n: code $(cat "$D/code.$s.$n"), $(wc -l <"$D/out.$s.$n") lines: $(cat "$D/err.$s.$n")"
		fi
	done
done
is $bad 0 "45 commands: all output, the right code"
for s in a b c; do
	is "$(boxctl exec $s -c 'cat ran.* | wc -l; ls ran.* | wc -l' | tr -s '\n ' ' ')" "15 15 " "session $s: each ran exactly once"
done
isnt "$(boxctl status | sed -n 's/^worker restarts: *//p')" 0 "though workers were replaced"
done_testing
