# LangBot's actions by boxctl call on the control socket, where a context is as good as the instance it names.
#
#	lb exec ws-1 1 '"spec": {"session_id": "s", "cmd": "echo hi", "workdir": "/tmp"}' | field stdout
#	run ws-1 1 s 'echo hi'                       the same for the usual command
#	refused ws-1 1 s 'echo hi' ',"cpus": 2'      what it says when it fails
#	host init '"has_limits": true'               actions of the host's own

lb() { # action workspace generation [more fields]
	box call "box_$1" "{\"context\": {\"instance\": \"inst-1\", \"workspace\": \"$2\", \"generation\": $3}${4:+, $4}}" -o json 2>&1
}
host() { box call "box_$1" "{$2}" -o json 2>&1; }

spec() { # session command [more of the spec]
	printf '"spec": {"session_id": "%s", "cmd": "%s", "workdir": "/tmp"%s}' "$1" "$2" "$3"
}
run() { lb exec "$1" "$2" "$(spec "$3" "$4" "$5")"; }
says() { run "$@" | field stdout; }
create() { lb create "$1" "$2" "$(spec "$3" "" "$4")"; }
named() { printf '"session_id": "%s"' "$1"; }
process() { printf '"session_id": "%s", "process_id": "%s"' "$1" "$2"; }
listed() { lb list "$1" "$2" | field session_id | sort | tr '\n' ' '; }

# of VALUE FIELD: out of an answer that was kept.  runs N, stopped N: is there a "sleep N"?
of() { printf '%s\n' "$1" | field "$2"; }
# Only of this boxd: a test beside us may sleep as long.
runs() {
	for _p in $(pgrep -f "^sleep $1\$"); do
		grep -qsF "$(_instances)" "/proc/$_p/cgroup" || _tree "$BOXD_PID" | grep -q "^$_p:" && return 0
	done
	return 1
}
stopped() { ! runs "$1"; }
