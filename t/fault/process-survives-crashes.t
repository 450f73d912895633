#!/bin/sh
# kill -9 of the worker and of the daemon: processes, their output and their input live on, and so does their policy.
. t/lib/sh/boxd.sh
boxd_config 'worker_restarts = 50' 'idle_ttl_sec = 2'
boxd_start
boxctl create --name s --memory 256 >/dev/null
field() { boxctl process get s "$1" -o json 2>/dev/null | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
is_in() { [ "$(field "$1" state)" = "\"$2\"" ]; }
number() { boxctl inspect s -o json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
has_worker() { [ "$(number worker_pid)" -gt 1 ] 2>/dev/null; }
kill_worker() { eventually has_worker && kill -9 "$(number worker_pid)"; } # between two lives its pid is 0
go() { boxctl exec s -- touch "$1"; }

boxctl process start s echo -e SECRET=1 -- sh -c 'echo pid $$; cat' >/dev/null
boxctl process start s writes -- sh -c 'n=0; while :; do until [ -e go$n ]; do sleep 0.02; done; seq $((n * 10000 + 1)) $((n * 10000 + 10000)); n=$((n + 1)); done' >/dev/null
boxctl process start s ended -- sh -c 'echo out; echo err >&2; exit 6' >/dev/null
boxctl process start s again --restart on-failure --restart-limit 50 -- sh -c 'echo x >>again; while :; do sleep 98761; done' >/dev/null
boxctl process start s failed --restart always --restart-limit 1 --restart-window 1 -- false >/dev/null
boxctl process start s line --ready-pattern READY --ring 4096 -- sh -c 'echo READY; seq 1 20000; sleep 98765' >/dev/null
boxctl process start s hungry --memory 64 -- python3 -c 'import os,time
while not os.path.exists("gohungry"): time.sleep(0.05)
x = bytearray(120 << 20)' >/dev/null 2>&1
eventually is_in ended exited
eventually is_in failed failed
eventually is_in line running
"$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s writes >"$D/stream" 2>/dev/null & reader=$!
go go0
eventually grep -qx 10000 "$D/stream"
pid=$(boxctl process logs s echo)

standing() { boxctl inspect s 2>/dev/null | grep -Eq 'state: +ready'; }
same_again() { # who died
	is "$(field echo state) $(field writes state) $(field ended state) $(field failed state) $(field line state)" \
		'"running" "running" "exited" "failed" "running"' "$1: every process is in its state"
	is "$(field ended exit_code)" 6 "$1: an ended one keeps its exit status"
	is "$(boxctl process logs s ended 2>&1 | sort | tr '\n' ' ')" "err out " "$1: and its output"
	like "$(field failed error)" 'ended 2 times' "$1: a failed one its reason"
	like "$(boxctl process get s echo -o json | tr -d '\n ')" '"env_keys":\["SECRET"\]' "$1: a running one its spec"
	echo "after $1" | boxctl process write s echo
	eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock process logs s echo | grep -qx 'after $1'"
	ok "$1: its input and output work"
	like "$(boxctl process logs s echo)" "^$pid\$" "$1: it is the same process"
	is "$(boxctl status -o json | sed -n 's/.*"processes": \([0-9]*\).*/\1/p')" 5 "$1: they are counted"
}

kill_worker
go go1 # written while nobody is there, perhaps
eventually standing
eventually grep -qx 20000 "$D/stream"
ok "worker: an attached reader goes on by itself"
same_again worker
go go2
eventually grep -qx 30000 "$D/stream"
seq 1 30000 | cmp -s - "$D/stream"
ok "worker: it has every byte once"

# the policy still applies: the next life is another worker's work
before=$(field again restarts)
boxctl exec s -- pkill -f 'sleep 9876[1]'
boxctl exec s -- pkill -f 'while :; do sleep 9876[1]'
lived() { is_in again running && [ "$(field again restarts)" = 1 ]; }
eventually lived
ok "worker: restart policy applies"

# under fire, while bytes flow
go go3
i=0
while [ $i -lt 5 ]; do
	kill_worker
	eventually standing
	i=$((i + 1))
done
eventually grep -qx 40000 "$D/stream"
seq 1 40000 | cmp -s - "$D/stream"
ok "worker: five deaths under a reader lose and double nothing"

vanish "$BOXD_PID"
wait $reader
is $? 125 "daemon: the reader is told"
boxd_start
eventually standing
same_again daemon
sleep 2.5 # more than the time to live
standing
ok "daemon: a session with processes is not idle for the next one"
boxctl process attach s writes --from "$(wc -c <"$D/stream")" >>"$D/stream" 2>/dev/null & reader=$!
go go4
eventually grep -qx 50000 "$D/stream"
seq 1 50000 | cmp -s - "$D/stream"
ok "daemon: a reader that comes back with its offset has every byte once"
go gohungry
eventually is_in hungry exited
case $(field hungry cause) in
'"memory"') pass "daemon: the cause of an end is still known" ;;
*) [ -e /sys/fs/cgroup/memory ] && fail "daemon: the cause of an end is still known: $(field hungry cause)" || skip 1 "no memory cgroup here" ;;
esac
kill_worker
eventually standing
# a stop whose worker dies is still a stop
boxctl process start s stubborn --restart always -- sh -c 'trap "" TERM; echo ready; while :; do sleep 0.1; done' >/dev/null
eventually sh -c "$BUILD/boxctl --socket $D/run/boxd.sock process logs s stubborn | grep -q ready"
boxctl process stop s stubborn >/dev/null 2>&1 & stop=$!
eventually is_in stubborn stopping
kill_worker
wait $stop
gone() { standing && [ "$(field stubborn state)" = "" ]; }
eventually gone
ok "a stop goes on when the worker that began it is dead"
kill $reader 2>/dev/null
wait $reader 2>/dev/null
done_testing
