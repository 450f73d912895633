#!/bin/sh
# What init counts and watches by itself is bounded in the boxd of an ordinary user too, where no cgroup may limit memory.
. t/lib/boxd.sh
. t/lib/hoards.sh
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
command -v setpriv >/dev/null || plan skip_all "no setpriv here"
as_user() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
mkdir -p "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
boxd_config 'spare_sandboxes = 0'
chown -R 65534:65534 "$D"
setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxd" -c "$D/boxd.conf" --state-dir "$D/state" --runtime-dir "$D/run" </dev/null >>"$D/log" 2>&1 &
BOXD_PID=$!
boxctl() { as_user "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
box() { timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
answers() { boxctl ping >/dev/null 2>&1; }
eventually answers
ok "boxd starts"
boxctl run -- true >/dev/null 2>&1 || plan skip_all "user namespaces are closed to ordinary users here"
if boxctl status | grep -q 'memory by cgroup'; then
	note "memory is limited by a cgroup here"
else
	for wall in cgroup.memory cgroup.sockets cgroup.kernel; do
		like "$(boxctl status | grep " $wall: ")" . "$wall is said to be missing"
	done
fi
for row in udp udp-parts tcp tcp-backlog tcp-keys netlink netlink-silent packet-headers multicast locks nameless-locks; do
	hoard_all 64 "hoards.$row"
done
done_testing
