# LangBot's own client for a shell test, in every version that t/lib/langbot.versions names.  Sourced behind boxd.sh:
#
#	langbot_needed [version...]     installs them; the test is skipped, by name, where that is impossible
#	langbot_needed $(langbot_since 0.7.13)    only those; also langbot_until, langbot_oldest, langbot_newest
#	langbot_all acceptance          runs t/langbot/acceptance.py with each of them, each time against a new boxd
#
# or, step by step:
#
#	for v in $LANGBOTS; do
#		langbot_use "$v"            the version for what follows
#		langbot_start [option...]   boxd with LangBot's door; options are lines of boxd.conf
#		langbot acceptance          its TAP is the test's
#		langbot_stop                stops boxd and forgets its state
#	done
#
# Each version is installed once, from PyPI, into build/langbot/VERSION, for builds with sanitizers too;
# LANGBOT_VENV names another directory.  Only the packages that the client and LangBot's Box parts import are
# installed: all that LangBot depends on would be more than a gigabyte.

LANGBOT_PARTS='aiofiles aiohttp httpx jinja2 mcp<2 packaging pydantic pydantic-settings python-dotenv pyyaml regex sqlalchemy[asyncio] websockets>=15.0.1'
_venvs=${LANGBOT_VENV:-${BUILD%/*}/build/langbot}
_pip="$_venvs/base/bin/python -m pip"
_install='install -q --no-compile --disable-pip-version-check'
LANGBOTS=

langbot_versions() { awk '!/^#/ && NF { print $1 }' t/lib/langbot.versions; }
langbot_oldest() { langbot_versions | head -n 1; }
langbot_newest() { langbot_versions | tail -n 1; }
_sorted() { printf '%s\n' "$1" "$2" | sort -VC; }
langbot_until() { for _n in $(langbot_versions); do ! _sorted "$_n" "$1" || echo "$_n"; done; }
langbot_since() { for _n in $(langbot_versions); do ! _sorted "$1" "$_n" || echo "$_n"; done; }
langbot_version_line() { awk -v v="$1" '$1 == v { $1 = $1; print }' t/lib/langbot.versions; }

# What all versions need is installed once, with the only pip; each environment gets links to it.
_langbot_base() {
	(
		flock 9
		[ "$(cat "$_venvs/base/installed" 2>/dev/null)" = "$LANGBOT_PARTS" ] && exit 0
		rm -rf "$_venvs/base"
		set -f # a requirement is no pattern
		python3 -m venv "$_venvs/base" && $_pip --python "$_venvs/base/bin/python" $_install $LANGBOT_PARTS &&
			echo "$LANGBOT_PARTS" >"$_venvs/base/installed"
	) 9>"$_venvs/base.lock"
}

_langbot_install() { # version langbot [what it needs beside]...
	_into=$_venvs/$1 _plugin=$1 _langbot=$2
	shift 2
	_langbot_base && rm -rf "$_into/lib" && python3 -m venv --without-pip "$_into" &&
		cp -al "$_venvs"/base/lib/python3*/site-packages "$_into"/lib/python3*/ &&
		{ [ $# = 0 ] || $_pip --python "$_into/bin/python" $_install "$@"; } &&
		$_pip --python "$_into/bin/python" $_install --no-deps "langbot-plugin==$_plugin" "langbot==$_langbot" &&
		langbot_python "$_into/bin/python" parts # compiles what is used of it
}

_langbot_installed() { # version
	_want="$(langbot_version_line "$1") $LANGBOT_PARTS"
	mkdir -p "$_venvs/$1"
	(
		flock 9
		[ "$(cat "$_venvs/$1/installed" 2>/dev/null)" = "$_want" ] && exit 0
		[ -e "$_venvs/$1/failed" ] && find "$_venvs/$1/failed" -mmin -10 | grep -q . && exit 1 # asked a moment ago
		rm -f "$_venvs/$1/installed"
		_langbot_install $(langbot_version_line "$1") >"$_venvs/$1/log" 2>&1 &&
			echo "$_want" >"$_venvs/$1/installed" && exit 0
		touch "$_venvs/$1/failed"
		exit 1
	) 9>"$_venvs/$1/lock"
}

langbot_needed() { # [version...]
	LANGBOTS=${*:-$(langbot_versions)}
	for _version in $LANGBOTS; do
		_langbot_installed "$_version" ||
			plan skip_all "langbot-plugin $_version cannot be installed here: $(tail -n 1 "$_venvs/$_version/log" 2>/dev/null)"
	done
	langbot_use "$_version"
}

langbot_use() { LANGBOT=$1 LANGBOT_PYTHON=$_venvs/$1/bin/python; }

langbot_start() {
	mkdir -p "$D/shared"
	chmod 755 "$D/shared"
	boxd_config 'listen = 127.0.0.1:0' "langbot_dir = $D/shared" "$@"
	boxd_start
	langbot_address
}

langbot_stop() {
	boxd_stop
	rm -rf "$D/state" "$D/shared"
}

langbot_address() {
	BOX_ADDRESS=$(boxctl status -o json | sed -n 's/.*"http_address": *"\([^"]*\)".*/\1/p')
	BOX_TOKEN=$(cat "$D/state/keys/langbot.token" 2>/dev/null) # none with auth = none
	BOX_SHARED=$D/shared BOXCTL="$BUILD/boxctl --socket $D/run/boxd.sock"
	export BOX_ADDRESS BOX_TOKEN BOX_SHARED BOXD_PID BOXCTL PYTHONDONTWRITEBYTECODE=1
}

# In our directory: LangBot leaves files where it stands.
langbot_python() ( # python script [argument...]
	_here=$PWD _python=$1 _script=$2
	shift 2
	cd "$D" && exec timeout -k 5 540 "$_python" "$_here/t/langbot/$_script.py" "$@"
)

# Its numbers become ours: what is printed is TAP already.
langbot() {
	_script=$1
	shift
	langbot_python "$LANGBOT_PYTHON" "$_script" "$@" >"$D/tap"
	_code=$?
	while read -r _line; do
		case $_line in
		'ok '*' # SKIP '*) _tests=$((_tests + 1)) && echo "ok $_tests - $LANGBOT: ${_line#ok * - }" ;;
		'ok '*) pass "$LANGBOT: ${_line#ok * - }" ;;
		'not ok '*) fail "$LANGBOT: ${_line#not ok * - }" ;;
		'#'*) echo "$_line" ;;
		esac
	done <"$D/tap"
	grep -q '^1\.\.[1-9]' "$D/tap"
	ok "$LANGBOT: $_script.py came to its end" || diag "exit status $_code"
}

langbot_all() { # "script [scenario...]" [option of boxd.conf...]
	_all=$1
	shift
	for _each in $LANGBOTS; do
		langbot_use "$_each"
		langbot_start "$@"
		langbot $_all
		langbot_stop
	done
}
