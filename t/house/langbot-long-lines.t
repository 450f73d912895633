#!/bin/sh
# A line as long as a relay passes on is kept while nobody is attached, and what is dropped is told.
. t/lib/sh/hostile.sh
. t/lib/sh/langbot.sh
http_start 'relay_line_bytes = 1048576' 'max_processes = 256'
NS=$(lb create ws-1 1 "$(spec s '' ', "memory_mb": 512, "pids_limit": 500')" >/dev/null && box ps --names)
start() { # process python
	lb process_start ws-1 1 "$(process s "$1"), \"command\": \"python3\", \"args\": [\"-c\", \"$2\"], \"cwd\": \"/tmp\"" >/dev/null
}
hostile 'rpc()' # the first that shows the token is trusted, and then its relays are
get() { lb process_get ws-1 1 "$(process s "$1")"; }
says_on_stderr() { get "$1" | field stderr_preview | grep -q "$2"; }
# the messages of a relay, each by its first letters and length, until the one that is "last"
relay() { # process
	hostile 'my $c = socket_at("/v1/sessions/$ARGV[0]/managed-process/$ARGV[1]/ws", "X-LangBot-Workspace-Id" => "ws-1",
	    "X-LangBot-Placement-Generation" => 1, "Sec-WebSocket-Protocol" => "mcp");
	print "refused: $c" and exit unless ref $c;
	for (my $m = ""; $m ne "last" && $m !~ /^(close |gone)/;) { $m = said($c); print substr($m, 0, 6) . ":" . length($m) . " "; }' "$NS" "$1"
}
W='import sys; w = sys.stdout.write'

start one "$W; w('before\\\\n'); w('x' * 1048576 + '\\\\n'); w('last\\\\n'); sys.stdout.flush(); sys.stderr.write('written\\\\n'); sys.stdin.read()"
eventually says_on_stderr one written
ok "a process writes a line of 1 MiB that nobody waits for"
is "$(relay one)" "before:6 xxxxxx:1048576 last:4 " "whoever attaches then has it whole, with what was before it"
unlike "$(get one | field stderr_preview)" dropped "nothing was dropped, and nothing is told"

start two "$W; [w(c * 1048575 + '\\\\n') for c in 'abc']; w('last\\\\n'); sys.stdout.flush(); sys.stderr.write('written\\\\n'); sys.stdin.read()"
eventually says_on_stderr two written
is "$(relay two)" "cccccc:1048575 last:4 " "of three such lines the last one is kept"
like "$(get two | field stderr_preview)" 'boxd: [0-9]+ bytes of standard output were dropped: nobody had read them' "LangBot reads on standard error what was dropped"
n=$(get two | field stderr_preview | sed 's/.*boxd: \([0-9]*\) bytes.*/\1/')
is "$n" "$(get two | field stdout_dropped)" "as much as the process says"
is "$(get two | field stdout_from)" "$n" "which is all that is not kept"
grep -aq "process=two dropped=$n bytes of output that nobody had read" "$D/log"
ok "and the log"
relay_again=$(get two | field stderr_preview | grep -c dropped)
hostile 'my $c = socket_at("/v1/sessions/$ARGV[0]/managed-process/two/ws", "X-LangBot-Workspace-Id" => "ws-1", "X-LangBot-Placement-Generation" => 1, "Sec-WebSocket-Protocol" => "mcp"); print ref $c ? "in" : $c' "$NS" >/dev/null
is "$(get two | field stderr_preview | grep -o dropped | wc -l)" "$relay_again" "it is told once"

# an ended one, to which no relay can attach, holds what it held before
start three "$W; w('y' * 1048576 + '\\\\n')"
ended() { [ "$(get "$1" | field state)" = exited ]; }
eventually ended three
from=$(get three | field stdout_from) bytes=$(get three | field stdout_bytes)
ok "of an ended one no more than the usual is held" [ $((bytes - from)) -lt $((512 * 1024)) -a $((bytes - from)) -ge $((256 * 1024)) ]
lb delete ws-1 1 "$(named s)" >/dev/null

# of all sessions together
boxd_stop
boxd_config 'relay_line_bytes = 4128768'
boxd_start
http_find
NS=$(lb create ws-1 1 "$(spec s '' ', "memory_mb": 512, "pids_limit": 500')" >/dev/null && box ps --names)
host init '"has_limits": true, "limits": {"max_managed_processes": 256}, "limits_given": ["max_managed_processes"]' >/dev/null
for i in $(seq 64); do
	lb process_start ws-1 1 "$(process s "p$i"), \"command\": \"cat\", \"cwd\": \"/tmp\"" >/dev/null
done
is "$(lb status ws-1 1 | field managed_processes) $(grep -ac 'is not kept whole' "$D/log")" "64 0" "64 processes may each keep a line of 4 MiB"
lb process_start ws-1 1 "$(process s p65), \"command\": \"cat\", \"cwd\": \"/tmp\"" >/dev/null
is "$(grep -ac 'process=p65 a line of 4128768 bytes is not kept whole while nobody is attached: 64 other processes' "$D/log")" 1 "one more may not, and the log tells it"
done_testing
