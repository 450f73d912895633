#!/bin/sh
# Attacks of a managed process on what keeps it: none outlives its stop, holds up its neighbours, or poses as another.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 100 --memory 256 >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
alone() { [ "$(boxctl exec s -- ps -eo pid= | wc -l | tr -d ' ')" = 2 ]; }
stopped() { # name
	boxctl process stop s evil >/dev/null 2>&1
	alone
	ok "$1: nothing is left after its stop"
}

boxctl process start s evil -- perl -e '$SIG{TERM} = "IGNORE"; while (1) { fork }' >/dev/null
crowded() { [ "$(boxctl exec s -- true 2>&1)" != "" ]; }
eventually crowded
stopped "a fork bomb"
boxctl process start s evil -- python3 -c '
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    if os.fork(): os._exit(0)
    os.setsid()' >/dev/null
stopped "one that forks and exits without end"

# it hands its pipes to a process of another tree, which holds and fills them after its end
boxctl process start s keeper -- python3 -c '
import array, os, socket
u = socket.socket(socket.AF_UNIX); u.bind("/tmp/keep"); u.listen()
c = u.accept()[0]
_, anc, _, _ = c.recvmsg(1, socket.CMSG_SPACE(12))
fds = array.array("i", anc[0][2]); c.send(b"k")
while True: os.write(fds[1], b"x" * 4096)' >/dev/null
eventually boxctl exec s -- test -S /tmp/keep
boxctl process start s evil -- python3 -c '
import array, os, socket, sys
c = socket.socket(socket.AF_UNIX); c.connect("/tmp/keep")
c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
c.recv(1); os._exit(3)' >/dev/null
ended() { [ "$(field evil state)" = '"exited"' ]; }
eventually ended
is "$(field evil exit_code)" 3 "one whose pipes are held by another still ends"
boxctl process stop s evil >/dev/null
ok "and can be stopped"
is "$(boxctl exec s -- echo fine)" fine "and the one that fills them is in nobody's way"
boxctl process stop s keeper >/dev/null
alone
ok "until it is stopped"

# init's side of the pipes, and what it keeps for the next worker, are out of reach
boxctl process start s secret -e KEY=ab12cd -- sleep 98765 >/dev/null
boxctl exec s -- python3 -c '
import os
paths = ["/proc/1/mem", "/proc/1/maps", "/proc/1/environ"]
paths += ["/proc/1/fd/%d" % fd for fd in range(64)]
for p in paths:
    for how in os.O_RDONLY, os.O_WRONLY:
        try: os.read(os.open(p, how | os.O_NONBLOCK), 1); print(p, "open")
        except OSError as e:
            if e.errno == 9: print(p, "open")
for sig in 9, 15, 19:
    try: os.kill(1, sig)
    except OSError: pass' >"$D/reach"
is "$(cat "$D/reach")" "" "init's descriptors and memory cannot be read"
is "$(field secret state)" '"running"' "nor can it be ended"

# lives of a process that floods both streams do not make init grow without bound
boxctl process start s evil --restart always --restart-limit 1000 -- sh -c 'head -c 5000000 /dev/zero; head -c 5000000 /dev/zero >&2; exit 1' >/dev/null
lives() { [ "$(field evil restarts)" -ge 4 ]; }
eventually lives
init=$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$init/status")
[ "$rss" -lt 4096 ]
ok "floods and restarts leave init small ($rss KiB)"
done_testing
