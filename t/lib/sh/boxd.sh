# A private boxd for a shell test, and TAP.  Sourced from the top of the tree:
#
#	. t/lib/sh/boxd.sh
#	boxd_config 'memory_mb = 64' 'log_level = debug'     before boxd_start
#	boxd_start [argument...]                             ready when it returns
#	is "$(boxctl get x -o json | jq -r .state)" ready "the session is ready"
#	eventually test -e "$D/mark"; ok "it came"           ok judges the command before it
#	done_testing                                         stops boxd; what is left of it is a failure
#
# $D is the test's directory (state, run, boxd.conf, log), $BOXD_PID the daemon.
# BUILD says where the programs are.  BOXD_WRAP is put before the daemon's command line, and must execute it in its place.
# Everything private begins with an underscore.

BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
EVENTUALLY_SEC=${EVENTUALLY_SEC:-60}

D=$(mktemp -d "${TMPDIR:-/tmp}/boxd-t.XXXXXX") || exit 1
chmod 755 "$D" # as /var/lib is: what boxd keeps closed it must close itself
BOXD_PID= BOXD_STATUS= BOXD_WRAP=
_tests=0 _failures=0 _planned= _done= _cleaned= _at_end=
: >"$D/log"
# uids of its own: the kernel counts pipes, watches and the like by uid, and another test may run beside us.
# A link that names us says which of 150 ranges is taken; those behind are for tests in C.
_range=$(($$ % 150))
_taken() { echo "${TMPDIR:-/tmp}/boxd-t-uids.$_range"; }
until ln -sn $$ "$(_taken)" 2>/dev/null; do
	[ -d "/proc/$(readlink "$(_taken)" || echo self)" ] || rm -f "$(_taken)" 2>/dev/null # of one that was killed
	_range=$(((_range + 1) % 150))
done
echo "uid_base = $((524288 + _range * 128 * 65536))" >"$D/boxd.conf"
# and no TCP port: the usual one can be had once.  A test that wants LangBot's door says
# boxd_config 'listen = 127.0.0.1:0'; the last value counts
echo "listen = none" >>"$D/boxd.conf"
: >"$D/.seen"
: >"$D/.instances"

# ---- TAP -------------------------------------------------------------------

diag() { printf '%s\n' "$*" | sed 's/^/# /' >&2; }
note() { printf '%s\n' "$*" | sed 's/^/# /'; }

_result() { # passed name
	_tests=$((_tests + 1))
	_name=$(printf '%s' "$2" | tr '#\n' '__')
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$_tests" "$_name"
		return 0
	fi
	printf 'not ok %d - %s\n' "$_tests" "$_name"
	_failures=$((_failures + 1))
	diag "Failed test '$_name' in $0"
	return 1
}

# ok NAME: did the command before this one succeed?  ok NAME COMMAND...: does this one?
ok() {
	_status=$?
	_what=$1
	shift
	if [ $# -gt 0 ]; then
		"$@"
		_status=$?
	fi
	_result "$_status" "$_what" && return 0
	diag "exit status $_status${1:+ of: $*}"
	return 1
}

pass() { _result 0 "$1"; }
fail() { _result 1 "$1"; }

is() { # got expected name
	[ "$1" = "$2" ]
	_result $? "$3" && return 0
	diag "     got: '$1'"
	diag "expected: '$2'"
	return 1
}

isnt() {
	[ "$1" != "$2" ]
	_result $? "$3" && return 0
	diag "got what it should not be: '$1'"
	return 1
}

like() { # got extended-regex name
	printf '%s\n' "$1" | grep -Eq -- "$2"
	_result $? "$3" && return 0
	diag "           got: '$1'"
	diag "does not match: '$2'"
	return 1
}

unlike() {
	! printf '%s\n' "$1" | grep -Eq -- "$2"
	_result $? "$3" && return 0
	diag "        got: '$1'"
	diag "but matches: '$2'"
	return 1
}

skip() { # count why
	_i=0
	while [ $_i -lt "$1" ]; do
		_tests=$((_tests + 1)) _i=$((_i + 1))
		printf 'ok %d # SKIP %s\n' "$_tests" "$2"
	done
}

plan() { # a number, or: skip_all why
	if [ "$1" = skip_all ]; then
		printf '1..0 # SKIP %s\n' "$2"
		_done=yes
		exit 0
	fi
	_planned=$1
	printf '1..%d\n' "$1"
}

# The last line of a test.  Without a plan the clean end is a test of its own.
done_testing() {
	_clean_up
	_left=$?
	if [ -z "$_planned" ]; then
		_result $_left "nothing of this boxd is left"
		printf '1..%d\n' "$_tests"
	elif [ "$_planned" -ne "$_tests" ]; then
		diag "Looks like you planned $_planned tests but ran $_tests."
		_failures=$((_failures + 1))
	fi
	[ "$_failures" -eq 0 ] || diag "Looks like you failed $_failures of $_tests."
	_done=yes
	[ "$_failures" -eq 0 ] && [ "$_left" -eq 0 ]
	exit
}

# ---- waiting ---------------------------------------------------------------

# eventually COMMAND...: until it succeeds.  The deadline is for machines that are very slow.
eventually() {
	_within "$EVENTUALLY_SEC" "$@" && return 0
	diag "not within $EVENTUALLY_SEC seconds: $*"
	return 1
}

_within() { # seconds command...
	_deadline=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt "$_deadline" ] || return 1
		sleep 0.05
	done
}

# Gone, or a zombie whose parent does not look.
_ended() { # pid
	_stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	case ${_stat##*) } in Z*|X*) return 0 ;; esac
	return 1
}

# vanish PID: as a crash would end it.  Gone when this returns.
vanish() {
	[ "$1" != "$BOXD_PID" ] || _remember
	kill -9 "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	_within 60 _ended "$1"
	[ "$1" != "$BOXD_PID" ] || BOXD_PID=
	return 0
}

# ---- the daemon ------------------------------------------------------------

boxctl() { "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@"; }

# box ARGUMENT...: the same, ended when it hangs.  in_box COMMAND...: what it says on both streams, in session s;
# in_session NAME COMMAND...: in another.
BOX_SEC=60
box() { timeout -k 5 "$BOX_SEC" "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@"; }
in_session() {
	_session=$1
	shift
	box exec "$_session" -t $((BOX_SEC - 10)) "$@" 2>&1
}
in_box() { in_session s "$@"; }

# Values out of boxctl's JSON, one on a line as it prints them: boxctl exec s -o json -- true | field cause
field() { sed -n "s/^ *\"$1\": \"\(.*\)\",*\$/\1/p;s/^ *\"$1\": \([^\",]*\),*\$/\1/p"; }
# disk s quota: of "disk" in session info
disk() { boxctl inspect "$1" -o json | sed -n '/"disk": {/,/}/p' | field "$2"; }

# What attacks have on the host, theirs who were killed long ago too: compare with before.
attack_things() { ls -d /dev/shm/boxd-attack-* /var/tmp/boxd-attack-* /tmp/boxd-attack-* 2>/dev/null; }

# For tests that make system calls by number.
needs_syscall_numbers() {
	perl -e 'require "sys/syscall.ph"' 2>/dev/null || plan skip_all "perl has no sys/syscall.ph here"
}

# boxd_config LINE...: lines of its configuration file
boxd_config() { printf '%s\n' "$@" >>"$D/boxd.conf"; }

_ready_or_dead() { _ended "$BOXD_PID" || boxctl ping >/dev/null 2>&1; }

# boxd_start [ARGUMENT...]: also again, after boxd_stop or vanish; the directories are the same.
# Its output is not ours: a daemon that stays must not keep the TAP pipe open.
boxd_start() {
	_log_was=$(wc -c <"$D/log")
	$BOXD_WRAP "$BUILD/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/boxd.conf" "$@" \
		</dev/null >>"$D/log" 2>&1 &
	BOXD_PID=$!
	eventually _ready_or_dead
	# the first it names is itself; later ones may be what it found of others
	tail -c +$((_log_was + 1)) "$D/log" | grep -aoE -m1 'instance=[0-9a-f]{16}' | head -n 1 |
		sed 's/.*=/boxd-/' >>"$D/.instances"
	{ cat "$D/.instances" >>"$BUILD/t/instances"; } 2>/dev/null # for the last test of all
	if ! _ended "$BOXD_PID" && boxctl ping >/dev/null 2>&1; then
		return 0
	fi
	fail "boxd starts"
	diag "$(tail -n 30 "$D/log")"
	exit 1
}

# boxd_stop: as an operator would.  BOXD_STATUS is its exit status.
boxd_stop() {
	[ -n "$BOXD_PID" ] || return 0
	_remember
	kill -TERM "$BOXD_PID" 2>/dev/null
	_stopped=0
	if ! _within 60 _ended "$BOXD_PID"; then
		diag "boxd does not stop: $(tail -n 5 "$D/log")"
		kill -9 "$BOXD_PID" 2>/dev/null
		_stopped=1
	fi
	wait "$BOXD_PID" 2>/dev/null
	BOXD_STATUS=$?
	BOXD_PID=
	return $_stopped
}

# ---- what is left ----------------------------------------------------------

# "pid:start time" of all processes below one.  A name may have spaces and brackets in it.
_tree() { # pid
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v root="$1" '
		/^[0-9]+ \(/ {
			pid = $1
			sub(/^.*\) /, "")
			parent[pid] = $2
			start[pid] = $20
		}
		END {
			for (pid in parent) {
				for (up = pid; up in parent && up != root && up != 0; )
					up = parent[up]
				if (up == root && pid != root)
					print pid ":" start[pid]
			}
		}'
}

# While the daemon lives its children can be told; when it is gone they are anybody's.
_remember() { _tree "$BOXD_PID" >>"$D/.seen"; }

_instances() { sort -u "$D/.instances"; }

_same_process() { # pid:start
	_stat=$(cat "/proc/${1%%:*}/stat" 2>/dev/null) || return 1
	_stat=${_stat##*) }
	case $_stat in Z*|X*) return 1 ;; esac
	[ "$(printf '%s' "$_stat" | cut -d' ' -f20)" = "${1#*:}" ]
}

_left_processes() {
	sort -u "$D/.seen" | while read -r _p; do
		! _same_process "$_p" || echo "${_p%%:*}"
	done
	_pattern=$(_instances)
	[ -n "$_pattern" ] || return 0
	grep -lsF "$_pattern" /proc/[0-9]*/cgroup | cut -d/ -f3 | while read -r _p; do
		_ended "$_p" || echo "$_p"
	done
}

_left_cgroups() {
	awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts | sort -u | while read -r _m; do
		for _i in $(_instances); do
			find "$_m" -depth -type d -path "*/$_i*" 2>/dev/null
		done
	done
}

_left_mounts() { awk -v d="$D/" 'index($5 "/", d) == 1 { print $5 }' /proc/self/mountinfo | sort -r; }

# Files a stopped daemon keeps are its own business; a session's directory and a socket are not.
_left_files() {
	find "$D/state/sessions" -mindepth 1 -maxdepth 1 2>/dev/null
	find "$D/run" "$D/state" -type s 2>/dev/null
}

_left() {
	_left_processes | sort -un | while read -r _p; do
		echo "process $_p: $(tr '\0' ' ' <"/proc/$_p/cmdline" 2>/dev/null)"
	done
	_left_cgroups | sed 's/^/cgroup /'
	_left_mounts | sed 's/^/mount /'
	_left_files | sed 's/^/file /'
}

_nothing_left() { [ -z "$(_left)" ]; }

_no_processes() { [ -z "$(_left_processes)" ]; }

# So that one failing test does not spoil those after it.
_sweep() {
	for _p in $(_left_processes); do
		kill -9 "$_p" 2>/dev/null
	done
	_within 10 _no_processes
	_left_mounts | while read -r _m; do umount -l "$_m" 2>/dev/null; done
	_left_cgroups | while read -r _c; do rmdir "$_c" 2>/dev/null; done
}

# at_end FUNCTION: called when boxd is gone, however the test ends; the last one first.  Its failure is the test's.
at_end() { _at_end="$1 $_at_end"; }

# 0 when nothing was left.
_clean_up() {
	[ -z "$_cleaned" ] || return 0
	_cleaned=yes _bad=0
	boxd_stop || _bad=1
	if ! _within 10 _nothing_left; then # dying takes a moment; longer is a leak
		diag "left behind:"
		diag "$(_left)"
		_sweep
		_bad=1
	fi
	for _what in $_at_end; do
		$_what || _bad=1
	done
	if grep -aE 'AddressSanitizer|LeakSanitizer|runtime error:|Assertion' "$D/log" >"$D/.grave"; then
		diag "the log has:"
		diag "$(head -n 20 "$D/.grave")"
		_bad=1
	fi
	if [ "$_failures" -gt 0 ] || [ "$_bad" -ne 0 ]; then
		diag "the end of the log:"
		diag "$(tail -n 20 "$D/log")"
	fi
	[ -n "$KEEP" ] && diag "kept: $D" || rm -rf --one-file-system "$D"
	rm -f "$(_taken)"
	return $_bad
}

_on_exit() {
	_code=$?
	trap - EXIT
	trap '' PIPE
	_clean_up || _code=1
	if [ -z "$_done" ]; then
		diag "the test ended before done_testing"
		[ "$_code" -ne 0 ] || _code=1
	fi
	exit $_code
}
trap _on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP PIPE
