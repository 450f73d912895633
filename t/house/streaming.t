#!/bin/sh
# Output comes as it is made, whole, and what is clipped is counted.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null

# the command waits for a file that appears only after its first line was seen outside
boxctl exec s -c 'echo first; until [ -e go ]; do sleep 0.02; done; echo second' >"$D/out" &
stream=$!
eventually grep -q first "$D/out"
ok "the first line is here while the command runs"
unlike "$(cat "$D/out")" second "and the second is not"
boxctl exec s -- touch go
wait $stream
is "$(tr '\n' ' ' <"$D/out")" "first second " "then the rest comes"

sum='head -c 20000000 /dev/zero | tr "\0" a | tee /dev/stderr | sha256sum | cut -c1-64 >sum'
boxctl exec s -c "$sum" >"$D/out" 2>"$D/err"
is "$(wc -c <"$D/err" | tr -d ' ')" 20000000 "20 MB are streamed to the last byte"
boxctl exec s -c 'for i in $(seq 1 20000); do echo "line $i"; done' >"$D/out"
is "$(sha256sum <"$D/out")" "$(seq -f 'line %.0f' 1 20000 | sha256sum)" "in order, nothing lost, nothing twice"

# a reader that stops reading stops the command, and loses nothing
(boxctl exec s -c 'seq 1 400000') | (sleep 0.5; cat) >"$D/slow"
is "$(sha256sum <"$D/slow")" "$(seq 1 400000 | sha256sum)" "a slow reader gets everything"

boxctl exec s --no-stream -c 'head -c 20000000 /dev/zero | tr "\0" b; echo short >&2' >"$D/out" 2>"$D/err"
is $? 0 "a kept command's end is its own"
is "$(wc -c <"$D/out" | tr -d ' ')" 16777216 "kept output stops where boxctl asked"
like "$(cat "$D/err")" 'only the first 16MiB of 19.1MiB were kept' "what was clipped is said"
like "$(cat "$D/err")" '^short' "the other stream is whole"
like "$(boxctl exec s -o json -c 'printf "a\nb"')" '"stdout": "a\\nb"' "JSON carries small output whole"
like "$(boxctl exec s -o json -c 'printf "a\nb"')" '"stdout_bytes": 3' "and counts it"

boxctl exec s -c 'yes' | head -n 3 >"$D/out"
is "$(cat "$D/out" | tr '\n' ' ')" "y y y " "a closed pipe ends an endless command"
eventually sh -c "! $BUILD/boxctl --socket $D/run/boxd.sock exec s -- pgrep -x yes >/dev/null"
ok "which is killed"
done_testing
