#!/bin/sh
# An attachment that goes on begins behind what the one before acknowledged; what nobody could read in time is counted.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --memory 256 >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
wrote() { [ "$(field "$1" stdout_bytes)" -ge "$2" ]; }
attach() { # process fields: orders on standard input
	timeout -k 5 60 perl t/lib/sh/rpc.pl "$D/run/boxd.sock" --attach "{\"session\": \"s\", \"process\": \"$1\"${2:+, }$2}" 2>"$D/told"
}
told() { tr '\n' ' ' <"$D/told"; }

# lines of ten bytes, more for every file
boxctl process start s lines -- sh -c 'n=0; while :; do until [ -e go$n ]; do sleep 0.02; done; for i in 1 2 3; do printf "line %04d\n" $((n * 3 + i)); done; n=$((n + 1)); done' >/dev/null
boxctl exec s -- touch go0
eventually wrote lines 30
is "$(printf 'until 30\n' | attach lines '"go_on": true')" "line 0001
line 0002
line 0003" "the first one begins with the first byte, also when nobody was there"
is "$(told)" "from 0 " "at offset 0"
is "$(printf 'until 30\nack 20\n' | attach lines '"go_on": true, "stdout_offset": 29' | head -n 1)" "line 0001" "what was not acknowledged comes again, whatever stdout_offset says"
is "$(printf 'until 30\n' | attach lines '"go_on": true')" "line 0003" "what was is behind us"
printf 'until 30\n' | attach lines '"go_on": true, "again": 1' >/dev/null
is "$(told)" "from 19 " "one byte before it can be asked for"
is "$(printf 'until 30\n' | attach lines '"go_on": true, "again": 4000000' | head -n 1)" "line 0001" "or all there is"
is "$(printf 'until 30\nack 10\n' | attach lines '"stdout_offset": 0' | head -n 1)" "line 0001" "reading again from the beginning"
is "$(printf 'until 30\n' | attach lines '"go_on": true')" "line 0003" "takes nothing back"
boxctl exec s -- touch go1
eventually wrote lines 60
is "$(printf 'until 60\nack 60\n' | attach lines '"go_on": true' | tail -n 1)" "line 0006" "what was written while nobody was there is kept"
is "$(field lines stdout_dropped)" 0 "nothing was dropped"

# a second takes over, with what the first had not acknowledged
mkfifo "$D/orders"
timeout -k 5 60 perl t/lib/sh/rpc.pl "$D/run/boxd.sock" --attach '{"session": "s", "process": "lines", "go_on": true}' \
	<"$D/orders" >"$D/first" 2>"$D/first.told" & first=$!
exec 9>"$D/orders"
attached() { [ "$(field lines attached)" = true ]; }
eventually attached
boxctl exec s -- touch go2
eventually wrote lines 90
echo 'until 90' >&9
echo 'ack 70' >&9
begins_behind() { [ "$(printf 'until 90\n' | attach lines '"go_on": true' | head -n 1)" = "line 0008" ]; } # once the ack is there
eventually begins_behind
ok "a second attachment takes over behind what the first acknowledged"
echo end >&9
exec 9>&-
wait $first
is "$(tr '\n' ' ' <"$D/first.told")" 'from 60 state: somebody else attached to process lines ' "and the first is told"

# one life after the other
boxctl process start s lives --restart always --restart-limit 100 -- sh -c 'until [ -e life ]; do sleep 0.02; done; rm life; echo lived' >/dev/null
boxctl exec s -- touch life
eventually wrote lives 6
printf 'until 6\nack 6\n' | attach lives '"go_on": true' >/dev/null
again() { boxctl exec s -- touch life; wrote lives 12; }
eventually again
is "$(printf 'until 12\n' | attach lives '"go_on": true' | head -n 1)" lived "it goes on over a restart of the process"
like "$(told)" '^from 6 ' "at the same offset"
boxctl process stop s lives >/dev/null

# more than is held
boxctl process start s flood --ring 4096 -- sh -c 'printf 12345; until [ -e goflood ]; do sleep 0.02; done; head -c 200000 /dev/zero; until [ -e gomore ]; do sleep 0.02; done; echo more' >/dev/null
eventually wrote flood 5
printf 'until 5\nack 5\n' | attach flood '"go_on": true' >/dev/null
boxctl exec s -- touch goflood
eventually wrote flood 200005
from=$(field flood stdout_from)
[ "$from" -gt 5 ]
ok "a ring holds the last of it"
is "$(field flood stdout_dropped)" "$((from - 5))" "what was dropped unread is counted, and no more than that"
is "$(boxctl process ls s | awk '$1 == "PROCESS" { for (i = 1; i <= NF; i++) if ($i == "DROPPED") print "there" }')" there "and listed"
printf 'until 200005\nack 200005\n' | attach flood '"go_on": true' >"$D/flood"
is "$(told)$(wc -c <"$D/flood")" "from $from $((200005 - from))" "the next begins with the oldest that is held"
grep -q "process=flood dropped=$((from - 5)) bytes" "$D/log"
ok "and the log says so"
boxctl exec s -- touch gomore
is "$(printf 'until 200010\nend\n' | attach flood '"go_on": true')" more "an end that races with it: the rest still comes"
like "$(told)" 'ended: exited' "and then its end"
is "$(printf 'end\n' | attach flood '"go_on": true')" more "also once more, for nobody has acknowledged it"
is "$(field flood stdout_dropped)" "$((from - 5))" "reading drops nothing"
done_testing
