#!/bin/sh
# What a process writes: never lost to a reader, never in the writer's way without one.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --memory 256 >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
ended() { [ "$(field "$1" state)" = '"exited"' ]; }

# a burst never empties the preview: 100 KB at once, the last 4000 characters of up to four bytes are there
boxctl process start s burst -- python3 -c '
import os, sys
text = "".join(chr(0x1F600 + i % 50) for i in range(25000))
os.write(2, text.encode())' >/dev/null
eventually ended burst
boxctl process logs s burst 2>"$D/err" >/dev/null
is "$(python3 -c '
import sys
text = "".join(chr(0x1F600 + i % 50) for i in range(25000))
got = open(sys.argv[1], "rb").read()
print(text.encode().endswith(got) and len(got) >= 16000)' "$D/err")" True "the last 4000 characters of a burst on standard error are kept"
is "$(field burst stderr_bytes)" 100000 "and all of it is counted"

# nobody attached: 10 MB flow, the process ends, the tail can be read, twice
boxctl process start s flood -- sh -c 'seq 1 1500000' >/dev/null
eventually ended flood
ok "a process that writes 10 MB is not held up when nobody reads"
total=$(seq 1 1500000 | wc -c)
is "$(field flood stdout_bytes)" "$total" "every byte is counted"
boxctl process attach s flood >"$D/tail"
is $? 0 "attaching to an ended one gives what is held, and its exit code"
n=$(wc -c <"$D/tail")
from=$(field flood stdout_from)
is "$((from + n))" "$total" "all that is held comes"
[ "$n" -ge 262144 ] && [ "$n" -lt 524288 ]
ok "which is a ring's worth"
seq 1 1500000 | tail -c "$n" | cmp -s - "$D/tail"
ok "and it is the tail"
boxctl process attach s flood | cmp -s - "$D/tail"
ok "reading does not use it up"
is "$(boxctl process attach s flood --from $((total - 8)))" 1500000 "an offset is exact"
is "$(boxctl process attach s flood --from end)" "" "the end has nothing behind it"

# a reader that comes and goes, by offset
boxctl process start s steps -- sh -c 'i=0; while [ $i -lt 4 ]; do until [ -e go$i ]; do sleep 0.02; done; seq $((i * 1000 + 1)) $((i * 1000 + 1000)); i=$((i + 1)); done; sleep 98765' >/dev/null
: >"$D/all"
for i in 0 1 2 3; do
	"$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s steps --from "$(wc -c <"$D/all")" >>"$D/all" 2>/dev/null &
	reader=$!
	boxctl exec s -- touch go$i
	eventually grep -qx $(((i + 1) * 1000)) "$D/all"
	kill -TERM $reader
	wait $reader
	[ $? = 143 ] || fail "an interrupted reader says so"
done
seq 1 4000 | cmp -s - "$D/all"
ok "a reader that goes and comes again by offset has every byte once"
is "$(field steps state)" '"running"' "and the process never noticed"

# a new reader takes over, the old one is told
"$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s steps >"$D/first" 2>"$D/first.err" & first=$!
eventually grep -qx 4000 "$D/first"
is "$(field steps attached)" true "attached is told"
"$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s steps --from 0 >"$D/second" 2>/dev/null & second=$!
wait $first
is $? 1 "the first of two readers ends"
like "$(cat "$D/first.err")" 'somebody else attached to process steps' "and is told why"
eventually grep -qx 4000 "$D/second"
seq 1 4000 | cmp -s - "$D/second"
ok "the second has everything"
kill -TERM $second
wait $second
unattached() { [ "$(field steps attached)" = false ]; }
eventually unattached
ok "a reader that left is not attached"

# in the middle of a flood, each from the beginning, which is held
boxctl process start s race --ring 4000000 -- sh -c 'until [ -e gorace ]; do sleep 0.02; done; i=0; while [ $i -lt 500 ]; do seq $((i * 1000 + 1)) $((i * 1000 + 1000)); i=$((i + 1)); done' >/dev/null
reader() { "$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s race >"$D/race$1" 2>>"$D/race.err"; }
reader 0 & last=$!
attached() { [ "$(field race attached)" = true ]; }
eventually attached
boxctl exec s -- touch gorace
i=0
while [ $i -lt 10 ]; do
	until [ -s "$D/race$i" ] || ! kill -0 $last 2>/dev/null; do :; done # not later: its replay is under way
	i=$((i + 1))
	reader $i & next=$!
	wait $last
	last=$next
done
wait $last
is "$(sort -u "$D/race.err")" "boxctl: somebody else attached to process race" "readers that take over are told nothing else"
seq 1 500000 >"$D/race"
wrong=0
for i in 0 1 2 3 4 5 6 7 8 9; do head -c "$(wc -c <"$D/race$i")" "$D/race" | cmp -s - "$D/race$i" || wrong=$((wrong + 1)); done
is "$wrong" 0 "each got what was written from the first byte on"
cmp -s "$D/race" "$D/race10"
ok "and the last got all of it"

# an attached reader that is slow slows the process down, and loses nothing
boxctl process start s big -- sh -c 'until [ -e gobig ]; do sleep 0.02; done; seq 1 400000' >/dev/null
(boxctl process attach s big) | (sleep 0.5; cat) >"$D/slow" & slow=$!
attached() { [ "$(field big attached)" = true ]; }
eventually attached
boxctl exec s -- touch gobig
wait $slow
seq 1 400000 | cmp -s - "$D/slow"
ok "a slow reader gets everything, though it is ten times what is held"

boxctl process start s small --ring 4096 -- sh -c 'until [ -e gosmall ]; do sleep 0.02; done; seq 1 400000' >/dev/null
boxctl process attach s small >"$D/small" & small=$!
attached() { [ "$(field small attached)" = true ]; }
eventually attached
boxctl exec s -- touch gosmall
wait $small
seq 1 400000 | cmp -s - "$D/small"
ok "so does one of a process with a very small ring"

# its own window shut, it does not hold up the end of the process
boxctl process start s stuck --ring 4096 -- sh -c 'until [ -e gostuck ]; do sleep 0.02; done; seq 1 100000000' >/dev/null
mkfifo "$D/never"
("$BUILD/boxctl" --socket "$D/run/boxd.sock" process attach s stuck >"$D/never") & blocked=$!
exec 9<"$D/never"
attached() { [ "$(field stuck attached)" = true ]; }
eventually attached
boxctl exec s -- touch gostuck
full() { [ "$(field stuck stdout_bytes)" -ge 1048576 ]; }
eventually full
like "$(boxctl process stop s stuck -o json)" '"state": "exited"' "one whose reader does not read can be stopped"
exec 9<&-
wait $blocked
like "$(boxctl process start s stuck -- sleep 98766)" stuck "and its name is free"
done_testing
