#!/bin/sh
# Output comes as it is made, whole, and what is clipped is counted.
. t/lib/boxd.sh
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

field() { perl -MJSON::PP -0777 -ne 'print decode_json($_)->{$ARGV[0]}' <<EOF
$1
EOF
}
json=$(boxctl exec s -o json -c 'head -c 2000000 /dev/zero | tr "\0" b; echo short >&2')
printf '%s' "$json" >"$D/json"
get() { perl -MJSON::PP -e 'local $/; print decode_json(<STDIN>)->{$ARGV[0]}' "$1" <"$D/json"; }
is "$(get stdout | wc -c | tr -d ' ')" 1048576 "kept output stops at 1 MiB"
is "$(get stdout_bytes)" 2000000 "all of it is counted"
is "$(get stderr)" "short" "the other stream is whole"
is "$(get cause)" exit "and the command ended by itself"

boxctl exec s -c 'yes' | head -n 3 >"$D/out"
is "$(cat "$D/out" | tr '\n' ' ')" "y y y " "a closed pipe ends an endless command"
eventually sh -c "! $BUILD/boxctl --socket $D/run/boxd.sock exec s -- pgrep -x yes >/dev/null"
ok "which is killed"
done_testing
