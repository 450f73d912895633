#!/bin/sh
# After a timeout the whole tree is dead and the session is gone, unless managed processes live in it.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start

out=$(run ws-1 1 s 'echo part; (sleep 98763 &) ; sleep 98763' ', "timeout_sec": 1')
is "$(of "$out" timed_out)" true "timed out"
is "$(of "$out" stdout)" 'part\n' "what it said until then"
is "$(of "$out" notice)" "Command timed out after 1 seconds." "and a line that tells it"
is "$(listed ws-1 1)" "" "the session is not listed any more"
is "$(boxctl ps --names)" "" "it was gone before the answer came"
ok "so is all that ran in it" stopped 98763
is "$(run ws-1 1 s 'echo mine >&2; sleep 98763' ', "timeout_sec": 1' | field notice)" "" "its own errors are enough"
is "$(run ws-1 1 p 'sleep 98763' ', "timeout_sec": 1, "persistent": true' | field timed_out)" true "a persistent one"
is "$(listed ws-1 1)" "" "goes as well"

create ws-1 1 mcp >/dev/null
lb process_start ws-1 1 "$(process mcp server), \"command\": \"cat\", \"cwd\": \"/tmp\"" >/dev/null
run ws-1 1 mcp 'echo kept >/tmp/file' >/dev/null
is "$(run ws-1 1 mcp '(sleep 98764 &); sleep 98764' ', "timeout_sec": 1' | field timed_out)" true "beside a managed process"
is "$(listed ws-1 1)" "mcp " "the session stays"
is "$(lb process_get ws-1 1 "$(process mcp server)" | field state)" running "the process goes on"
is "$(says ws-1 1 mcp 'cat /tmp/file')" 'kept\n' "files are there"
ok "the command's tree is dead" stopped 98764
lb process_stop ws-1 1 "$(process mcp server)" >/dev/null
run ws-1 1 mcp 'sleep 98764' ', "timeout_sec": 1' >/dev/null
is "$(listed ws-1 1)" "" "without the process it goes"
done_testing
