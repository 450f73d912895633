#!/bin/sh
# An ordinary user's boxd mounts what that user may use; what it cannot do is refused by name.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
mkdir -p "$D/bin" "$D/w/sub" "$D/state/images/own/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
echo text >"$D/w/f"
chown -R 65534:65534 "$D"
mkdir "$D/roots" && echo public >"$D/roots/f"
setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxd" -c "$D/boxd.conf" --state-dir "$D/state" --runtime-dir "$D/run" \
	</dev/null >"$D/log" 2>&1 &
BOXD_PID=$!
ctl() { timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@" 2>&1; }
answers() { ctl ping >/dev/null; }
eventually answers
ok "boxd starts"
ctl run -- true >/dev/null || plan skip_all "user namespaces are closed to ordinary users here"

is "$(ctl run --host-path "$D/w" -c 'cat f; echo new >g; stat -c %u f g' | tr '\n' ' ')" "text 0 0 " "a directory of the user's is root's inside"
is "$(stat -c %u "$D/w/g")" 65534 "and the user's outside"
like "$(ctl run --host-path "$D/w:ro" -c 'echo x >f')" 'Read-only' "ro is read-only"
is "$(ctl run --mount "$D/w:/deep/er" --mount "$D/roots:/r:ro" -c 'cat /deep/er/f /r/f' | tr '\n' ' ')" "text public " "mounts anywhere, also of others' directories"
like "$(ctl run --mount "$D/w:/deep/er" -c 'touch /deep/x')" 'Read-only' "the root around them stays read-only"
like "$(ctl run --host-path "$D/roots" -c 'echo x >f')" 'denied' "what the user may not write cannot be written"
like "$(ctl run --host-path "$D/w/new" -c true)" "spec.host_path: $D/w/new does not exist; make it first" "what is missing is refused"
ok "and not made" test ! -e "$D/w/new"
like "$(ctl run --host-path "$D/state" -c true)" "is boxd's own" "the rules are the same"
mkdir "$D/extra"; chown 65534:65534 "$D/extra"
ctl create --name q --host-path "$D/w" --workspace-quota 8 >/dev/null
is "$(ctl exec q --mount "$D/extra:/workspace/m" -c 'echo x >m/x; cat m/x')" x "a command's writable mount, with a quota"
head -c 20000000 /dev/zero >"$D/extra/y"
like "$(ctl exec q -- true)" 'workspace quota exceeded before execution' "counts against it"
rm "$D/extra/y"
is "$(ctl exec q -- echo again)" again "and with room again a command runs"
like "$(ctl run --writable-root -c true)" 'spec.read_only_rootfs: false needs a boxd that runs as root.*; use an image' "a writable host view is refused, and why"

cp "$(command -v sh)" "$D/state/images/own/bin/sh"
ldd "$(command -v sh)" | grep -oE '/[^ ]+' | while read -r l; do
	mkdir -p "$D/state/images/own$(dirname "$l")" && cp -L "$l" "$D/state/images/own$l"
done
chown -R 65534:65534 "$D/state/images/own"
is "$(ctl run --image own --writable-root -c 'echo x >/made; echo /made; echo /usr/bin/env*')" "/made
/usr/bin/env*" "an image of the user's own can be written"
is "$(ls "$D/state/images/own/made" 2>/dev/null)" "" "in a copy"
done_testing
