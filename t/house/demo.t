#!/bin/sh
# make run and make demo: a first command, and what LangBot needs to come in, also when its usual port is taken.
. t/lib/sh/boxd.sh
boxd_config 'listen = 127.0.0.1:0'
boxd_start
taken=$(boxctl status -o json | sed -n 's/.*"http_address": *"\([^"]*\)".*/\1/p')

mkdir "$D/demo"
DEMO_LISTEN=127.0.0.1:0 sh t/lib/sh/demo.sh "$BUILD" "$D/demo" stop >"$D/out" 2>&1
is $? 0 "the demo ends well"
like "$(cat "$D/out")" '^hello from [^ ]*, pid [0-9]*, as root$' "a command ran in a sandbox"
like "$(cat "$D/out")" "^boxd: LangBot's door is http://127.0.0.1:[0-9]*$" "it says where LangBot's door is"
is "$(grep -c 'is taken' "$D/out")" 0 "on the port it was to have"

DEMO_LISTEN=$taken sh t/lib/sh/demo.sh "$BUILD" "$D/demo" stay >"$D/out" 2>&1 &
stay=$!
eventually grep -q 'Ctrl-C stops it' "$D/out"
ok "with that port taken it comes up all the same"
like "$(cat "$D/out")" "^$taken is taken" "and says so"
sed -n 's/^  \(export [LB].*_.*=.*\)/\1/p' "$D/out" | grep -v BOXD_SOCKET >"$D/lines"
is "$(wc -l <"$D/lines")" 2 "the lines for LangBot are there"
. "$D/lines"
isnt "$BOX__RUNTIME__ENDPOINT" "ws://$taken" "they name the port it has"
is "$LANGBOT_BOX_CONTROL_TOKEN" "$(cat "$D/demo/state/keys/langbot.token")" "and its token"
kill -TERM "$stay"
wait "$stay"
is $? 143 "a signal ends it"
BOXD_SOCKET=$D/demo/boxd.sock "$BUILD/boxctl" ping >/dev/null 2>&1
is $? 125 "and its boxd"
done_testing
