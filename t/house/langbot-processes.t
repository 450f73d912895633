#!/bin/sh
# LangBot's managed processes: started, told, replaced, stopped, counted.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start
create ws-1 1 s >/dev/null
start() { # process command args... as JSON
	lb process_start ws-1 1 "$(process s "$1"), \"command\": \"$2\", \"args\": [$3], \"cwd\": \"/tmp/dir\", \"env\": {\"B\": \"2\", \"A\": \"secret\"}"
}
get() { lb process_get ws-1 1 "$(process s "$1")"; }

out=$(start "" sh '"-c", "while true; do sleep 1; done"')
is "$(of "$out" process) $(of "$out" state) $(of "$out" session_id)" "default running s" "started"
is "$(get default | field state)" running "and running"
is "$(printf "%s" "$out" | sed -n '/"argv"/,/\]/p' | tr -d ' \n')" '"argv":["sh","-c","whiletrue;dosleep1;done"],' "command and arguments as they were given"
is "$(printf "%s" "$out" | sed -n '/"env_keys"/,/\]/p' | tr -d ' \n')" '"env_keys":["A","B"],' "names of variables, sorted"
unlike "$out" secret "and no value"
is "$(of "$out" workdir)" /tmp/dir "its directory was made"
got=$(lb get ws-1 1 "$(named s)")
is "$(of "$got" process) $(of "$got" state)" "default running" "get of the session tells it"

start q false >/dev/null
ended() { [ "$(get q | field state)" = exited ]; }
eventually ended
is "$(get q | field exit_code | tail -n 1)" 1 "one that fails has ended with 1"
start e sh '"-c", "echo oh no >&2; exit 0"' >/dev/null
noted() { [ "$(get e | field stderr_preview)" = 'oh no\n' ]; }
eventually noted
ok "what it says on standard error is kept"
is "$(lb get ws-1 1 "$(named s)" | field stderr_preview | grep -c 'oh no')" 1 "and told with the session, too"
is "$(lb status ws-1 1 | field managed_processes)" 1 "status counts those that run"
is "$(lb process_stop ws-1 1 "$(process s q)" | tr -d ' \n')" '{}' "an ended one can be stopped"
is "$(get q)" "boxctl: session s has no managed process with process_id=q" "then it is forgotten"
is "$(lb process_stop ws-1 1 "$(process s q)")" "boxctl: session s has no managed process with process_id=q" "and cannot be stopped again"
start n no-such-program >/dev/null
gone() { [ "$(get n | field exit_code | tail -n 1)" = 127 ]; }
eventually gone
ok "a program that is not there: exited with 127"
is "$(get n | field stderr_preview)" 'boxd: no-such-program: not found\n' "and its standard error says so, as a shell would"
is "$(lb get ws-1 1 "$(named s)" | field stderr_preview | grep -c 'no-such-program: not found')" 1 "also in the session object"
start d /tmp/dir >/dev/null
is "$(get d | field exit_code | tail -n 1) $(get d | field stderr_preview)" '126 boxd: exec /tmp/dir: is a directory\n' "what cannot be executed says why"
start i sh '"-c", "printf \"#!/no/such/shell\\n\" >/tmp/s; chmod 755 /tmp/s"' >/dev/null
made() { [ "$(get i | field state)" = exited ]; }
eventually made
start i /tmp/s >/dev/null
is "$(get i | field exit_code | tail -n 1) $(get i | field stderr_preview)" \
	'127 boxd: exec /tmp/s: the interpreter or loader that it names is missing\n' "so does a script without its interpreter"

is "$(lb process_get ws-1 1 "$(process zz x)")" "boxctl: session zz not found" "no such session"
is "$(lb process_start ws-1 1 "$(process zz x), \"command\": \"true\", \"cwd\": \"/\"")" "boxctl: session zz not found" "it is not made for a process"
is "$(lb process_get ws-1 1 "$(process s '')" | field process)" default "no name is default"

# as many as box_init says
host init '"has_limits": true, "limits": {"max_managed_processes": 1}, "limits_given": ["max_managed_processes"]' >/dev/null
is "$(start two cat)" "boxctl: Box managed process capacity reached (1)" "no more than box_init allows"
old=$(get default | field started_ms)
is "$(start default sleep '"1000"' | field state)" running "but one of the same name takes the place"
isnt "$(get default | field started_ms)" "$old" "of the old one"
is "$(lb process_stop ws-1 1 "$(process s default)" | tr -d ' \n')" '{}' "stop"
ok "nothing of it is left" stopped 1000
is "$(start two cat | field state)" running "now there is room"
is "$(lb status ws-1 1 | field managed_processes)" 1 "one runs"
is "$(lb delete ws-1 1 "$(named s)" | tr -d ' \n')" '{}' "a session with a running process can be deleted"
is "$(lb get ws-1 1 "$(named s)")" "boxctl: session s not found" "it is gone"
is "$(lb status ws-1 1 | field managed_processes)" 0 "with its process"

# an ended one is known for as long as box_init says
host init '"has_limits": true, "limits": {"completed_process_retention_sec": 0}, "limits_given": ["completed_process_retention_sec"]' >/dev/null
create ws-1 1 s >/dev/null
start x true >/dev/null
forgotten() { [ "$(get x)" = "boxctl: session s has no managed process with process_id=x" ]; }
eventually forgotten
ok "retention 0: forgotten at once"
done_testing
