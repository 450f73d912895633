#!/bin/sh
# A command may close its standard streams, leave them to others or flood both: its result is its own, and every byte is counted.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
in_box() { timeout -k 5 60 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s "$@"; }

for how in '' --no-stream; do
	name=${how:-streamed}
	is "$(in_box $how -c 'exec <&-; echo out; exit 3'; echo $?)" "out
3" "$name: standard input closed"
	in_box $how -c 'echo before; exec >&-; echo after >&2; exit 4' >"$D/out" 2>"$D/err"
	is "$? $(cat "$D/out") $(cat "$D/err")" "4 before after" "$name: standard output closed"
	in_box $how -c 'echo before >&2; exec 2>&-; echo after; exit 5' >"$D/out" 2>"$D/err"
	is "$? $(cat "$D/out") $(cat "$D/err")" "5 after before" "$name: standard error closed"
	in_box $how -c 'exec <&- >&- 2>&-; exit 6' >"$D/out" 2>"$D/err"
	is "$? $(cat "$D/out" "$D/err")" "6 " "$name: all of them closed"
	is "$(printf abc | in_box $how -i -c 'exec <&-; echo fine')" fine "$name: input that nobody reads"
done

# the command exits, its child keeps the pipes and goes on writing
in_box -c '(until [ -e end ]; do sleep 0.02; done; echo late; echo late >&2) & echo now; exit 7' >"$D/out" 2>"$D/err"
is "$? $(cat "$D/out")" "7 now" "the reply does not wait for a child that holds the pipes"
is "$(in_box --no-stream -c 'yes >/dev/stdout & sleep 0.2; echo $!; kill -STOP $!; exit 8' >"$D/out"; echo $?)" 8 "nor for one that was stopped while it wrote"
in_box -c 'touch end; pkill -9 yes; :'

# floods: both streams, all bytes, and what is not kept is counted
flood='perl -e "my \$x = chr(97) x 65536; for (1 .. 320) { syswrite STDOUT, \$x; syswrite STDERR, \$x }"'
in_box -t 60 -c "$flood" >"$D/out" 2>"$D/err"
is "$? $(wc -c <"$D/out" | tr -d ' ') $(wc -c <"$D/err" | tr -d ' ')" "0 20971520 20971520" "streamed: 20 MiB on each stream arrive"
in_box -t 60 -o json -c "$flood" >"$D/json"
like "$(cat "$D/json")" '"stdout_bytes": 20971520' "kept: all bytes of standard output are counted"
like "$(cat "$D/json")" '"stderr_bytes": 20971520' "and of standard error"
in_box -t 1 --no-stream -c 'yes & yes >&2 & wait' >/dev/null 2>"$D/err"
is $? 124 "an endless flood on both ends by its timeout"
is "$(in_box -c 'pgrep -c -x yes')" 0 "and nobody goes on writing"
is "$(in_box -- echo alive)" alive "the session lives on"
done_testing
