# LangBot's own client for a shell test.  Sourced behind boxd.sh:
#
#	langbot_needed              the test is skipped, by name, where it cannot be installed
#	langbot_start [option...]   boxd with the door open; options are lines of boxd.conf
#	langbot acceptance          runs t/langbot/acceptance.py, whose TAP is the test's
#
# The client is installed once, from PyPI, into build/langbot, for builds with sanitizers too; LANGBOT_VENV says
# where it is already.

LANGBOT_CLIENT=langbot-plugin==0.5.5
LANGBOT=langbot==4.10.8 # without what its other parts need, which is more than a gigabyte
_venv=${LANGBOT_VENV:-${BUILD%/*}/build/langbot}

langbot_needed() {
	mkdir -p "$_venv"
	(
		flock 9
		[ -e "$_venv/installed" ] && exit 0
		[ -e "$_venv/failed" ] && find "$_venv/failed" -mmin -10 | grep -q . && exit 1 # asked a moment ago
		{ python3 -m venv "$_venv" && "$_venv/bin/pip" install -q --disable-pip-version-check \
			"$LANGBOT_CLIENT" 'mcp<2' 'websockets<16' 'sqlalchemy[asyncio]' &&
			"$_venv/bin/pip" install -q --disable-pip-version-check --no-deps "$LANGBOT"; } >"$_venv/log" 2>&1 && touch "$_venv/installed" && exit 0
		touch "$_venv/failed"
		exit 1
	) 9>"$_venv/lock" || plan skip_all "$LANGBOT_CLIENT cannot be installed here: $(tail -n 1 "$_venv/log" 2>/dev/null)"
}

langbot_start() {
	mkdir -p "$D/shared"
	chmod 755 "$D/shared"
	boxd_config 'listen = 127.0.0.1:0' "langbot_dir = $D/shared" "$@"
	boxd_start
	langbot_address
}

langbot_address() {
	BOX_ADDRESS=$(boxctl status -o json | sed -n 's/.*"http_address": *"\([^"]*\)".*/\1/p')
	BOX_TOKEN=$(cat "$D/state/keys/langbot.token" 2>/dev/null) # none with auth = none
	BOX_SHARED=$D/shared BOXCTL="$BUILD/boxctl --socket $D/run/boxd.sock"
	export BOX_ADDRESS BOX_TOKEN BOX_SHARED BOXD_PID BOXCTL PYTHONDONTWRITEBYTECODE=1
}

# Its numbers become ours: what is printed is TAP already.
langbot() {
	_script=$1
	shift
	timeout -k 5 540 "$_venv/bin/python" "t/langbot/$_script.py" "$@" >"$D/tap"
	_code=$?
	while read -r _line; do
		case $_line in
		'ok '*' # SKIP '*) _tests=$((_tests + 1)) && echo "ok $_tests - ${_line#ok * - }" ;;
		'ok '*) pass "${_line#ok * - }" ;;
		'not ok '*) fail "${_line#not ok * - }" ;;
		'#'*) echo "$_line" ;;
		esac
	done <"$D/tap"
	grep -q '^1\.\.[1-9]' "$D/tap"
	ok "$_script.py came to its end" || diag "exit status $_code"
}
