# The boxd of an ordinary user.  Source this, make in $D what is to belong to that user, and call user_start.
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
USER_IS="setpriv --reuid 65534 --regid 65534 --clear-groups"

own() { chown -hR 65534:65534 "$1"; }
boxctl() { $USER_IS "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
box() { timeout -k 5 60 $USER_IS "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
answers() { boxctl ping >/dev/null 2>&1; }

# user_start [OPTION...]: lines of its configuration
user_start() {
	mkdir -p "$D/bin"
	cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
	boxd_config "$@"
	own "$D"
	$USER_IS "$D/bin/boxd" -c "$D/boxd.conf" --state-dir "$D/state" --runtime-dir "$D/run" </dev/null >>"$D/log" 2>&1 &
	BOXD_PID=$!
	eventually answers
	ok "boxd starts"
	boxctl run -- true >/dev/null 2>&1 || plan skip_all "user namespaces are closed to ordinary users here"
}
