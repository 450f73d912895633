#!/bin/sh
# The same ways around a watched quota, tried on the boxd of an ordinary user.
. t/lib/boxd.sh
. t/lib/json.sh
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
mkdir -p "$D/bin" "$D/w"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
boxd_config 'spare_sandboxes = 0' 'workspace_entries = 3000'
chown -R 65534:65534 "$D"
setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxd" -c "$D/boxd.conf" --state-dir "$D/state" --runtime-dir "$D/run" </dev/null >>"$D/log" 2>&1 &
BOXD_PID=$!
boxctl() { as_user "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
box() { timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
answers() { boxctl ping >/dev/null 2>&1; }
eventually answers
ok "boxd starts"
boxctl run -- true >/dev/null 2>&1 || plan skip_all "user namespaces are closed to ordinary users here"
boxctl create --name s --host-path "$D/w" --workspace-quota 8 >/dev/null
ok "a session with a quota is made"
like "$(disk s quota)" '^a watcher' "which is watched"
. t/lib/quota_tricks.sh
is "$(box exec s -- echo alive)" alive "the session lives on"
done_testing
