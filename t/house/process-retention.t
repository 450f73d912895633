#!/bin/sh
# Ended processes are remembered for a time, and not too many of them.
. t/lib/sh/boxd.sh
boxd_config 'process_retention_sec = 1' 'process_retained = 2'
boxd_start
boxctl create --name s >/dev/null
names() { boxctl process ls s | awk 'NR > 1 { print $1 }' | tr '\n' ' '; }
gone() { ! boxctl process get s "$1" >/dev/null 2>&1; }
boxctl process start s stays -- sleep 98764 >/dev/null
boxctl process start s short -- true >/dev/null
eventually gone short
ok "an ended one is forgotten after its time"
is "$(names)" "stays " "one that runs is not"
boxd_stop
sed -i 's/retention_sec = 1/retention_sec = 600/' "$D/boxd.conf"
boxd_start
boxctl create --name s >/dev/null
for n in a b c d; do
	boxctl process start s $n -- true >/dev/null
	ended() { boxctl process get s $n -o json | grep -q '"state": "exited"'; }
	eventually ended
done
is "$(names)" "c d " "only so many are remembered, the oldest goes first"
boxd_stop
sed -i 's/retention_sec = 600/retention_sec = 0/' "$D/boxd.conf"
boxd_start
boxctl create --name s >/dev/null
boxctl process start s none -- true >/dev/null
eventually gone none
ok "0: forgotten at once"
done_testing
