#!/bin/sh
# A command runs in a throw-away sandbox, and boxctl tells its end as a shell would.
. t/lib/sh/boxd.sh
boxd_start

is "$(boxctl run -- echo hello)" hello "standard output arrives"
is "$(boxctl run -c 'echo out; echo err >&2' 2>/dev/null)" out "standard output is kept apart"
is "$(boxctl run -c 'echo out; echo err >&2' 2>&1 >/dev/null)" err "standard error is kept apart"

code() { boxctl run "$@" >"$D/out" 2>"$D/err"; echo $?; }
is "$(code -c 'exit 0')" 0 "exit 0"
is "$(code -c 'exit 3')" 3 "exit 3"
is "$(code -c 'kill -TERM $$')" 143 "a signal is 128 + n"
is "$(code -- no-such-program)" 127 "a missing program is 127"
like "$(cat "$D/err")" 'no-such-program.*No such file' "and is named"
is "$(code -- /etc/passwd)" 126 "a file that is no program is 126"
is "$(code -t 0.2 -- sleep 100)" 124 "a timeout is 124"
like "$(cat "$D/err")" 'timed out after 0.2 s' "and is told"
is "$(code -- printf '%s|%s' 'a b' '$HOME;"')" 0 "argv is passed"
is "$(cat "$D/out")" 'a b|$HOME;"' "as it is, without a shell"

is "$(boxctl ps --names)" "" "throw-away sessions are gone"
done_testing
