#!/bin/sh
# Writing to a process: in order, to the end; one that does not read is in nobody's way.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
ended() { [ "$(field "$1" state)" = '"exited"' ]; }

boxctl process start s cat -- cat >/dev/null
for i in 1 2 3; do echo "line $i" | boxctl process write s cat; done
said() { [ "$(boxctl process logs s cat | tr '\n' ' ')" = "line 1 line 2 line 3 " ]; }
eventually said
ok "what is written is read, in order"
is "$(field cat stdin_bytes)" 21 "and counted"
boxctl process write s cat --eof </dev/null
eventually ended cat
is "$(field cat exit_code)" 0 "eof ends it"
echo more | boxctl process write s cat 2>"$D/err"
is $? 1 "an ended one cannot be written to"
like "$(cat "$D/err")" 'process cat is not running: exited' "and that is told"

boxctl process start s sum -- sh -c 'sha256sum' >/dev/null
seq 1 2000000 | boxctl process write s sum --eof
eventually ended sum
is "$(boxctl process logs s sum | cut -c1-64)" "$(seq 1 2000000 | sha256sum | cut -c1-64)" "14 MB arrive whole"

# both ways on one attachment
seq 1 50000 | boxctl process attach s pipe -i >"$D/echo" 2>/dev/null
boxctl process start s pipe -- cat >/dev/null
seq 1 200000 | boxctl process attach s pipe -i >"$D/echo"
is $? 0 "attach -i ends with the process"
seq 1 200000 | cmp -s - "$D/echo"
ok "input and output pass each other"

# one that does not read: its writer waits, and nobody else
boxctl process start s deaf -- sleep 98767 >/dev/null
head -c 3000000 /dev/zero | "$BUILD/boxctl" --socket "$D/run/boxd.sock" process write s deaf 2>"$D/err" & writer=$!
taken() { [ "$(field deaf stdin_bytes)" -ge 65536 ]; }
eventually taken
is "$(boxctl exec s -- echo fine)" fine "commands of the session go on"
kill -0 $writer
ok "its writer waits"
is "$(field deaf state)" '"running"' "it can be asked about"
boxctl process start s reads -- cat >/dev/null
echo hello | boxctl process write s reads
said() { [ "$(boxctl process logs s reads)" = hello ]; }
eventually said
ok "another process takes its input"
boxctl process stop s deaf >/dev/null
wait $writer
is $? 1 "the writer is told when it ends"
like "$(cat "$D/err")" 'process deaf (is being stopped|: it is being stopped)' "and why"

# it closed its input and runs on
boxctl process start s closed -- sh -c 'exec <&-; echo closed; sleep 98768' >/dev/null
said() { [ "$(boxctl process logs s closed)" = closed ]; }
eventually said
echo x | boxctl process write s closed 2>"$D/err"
is $? 1 "one that closed its input cannot be written to"
like "$(cat "$D/err")" 'does not read its standard input any more' "and that is told"

boxctl process start s deaf -- sleep 98769 >/dev/null
head -c 3000000 /dev/zero | "$BUILD/boxctl" --socket "$D/run/boxd.sock" process write s deaf 2>/dev/null & writer=$!
eventually taken
boxctl rm s >/dev/null
ok "a session with a blocked writer can be deleted"
wait $writer
isnt $? 0 "and the writer is told"
done_testing
