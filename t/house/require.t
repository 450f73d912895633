#!/bin/sh
# What a client or the operator cannot do without is there, or the session is not.
. t/lib/sh/boxd.sh
boxd_start
walls=$(boxctl status -o json | tr -d '\n' | sed 's/.*"walls": \[ *\([^]]*\)\].*/\1/' | tr -d '" ')
has() { case ",$walls," in *",$1,"*) return 0 ;; esac; return 1; }
ok "status tells the walls" has netns
boxctl create --name s --require netns,pidns --require userns >/dev/null
ok "walls that are there can be required"
like "$(boxctl inspect s)" 'require: +netns, pidns, userns' "inspect tells what was"
like "$(boxctl inspect s)" 'walls: .*netns.*quota.bytes, quota.inodes' "and what is in force, its workspace's included"
boxctl create --name s --require netns 2>"$D/e"
is $? 1 "it is part of the spec"
like "$(cat "$D/e")" 'already exists with require=netns,pidns,userns, not netns' "and compared"
boxctl rm s >/dev/null
[ -z "$walls" ] || boxctl run --require "$walls,quota.bytes,quota.inodes" -- true
ok "all walls there are, at once"

boxctl run --require nowall -- true 2>"$D/e"
is $? 2 "boxctl knows the names"
like "$(cat "$D/e")" "no wall 'nowall'; there are: userns, uids, .*quota.inodes" "and tells them"
# the daemon does too, at its own socket
if command -v python3 >/dev/null; then
	python3 - "$D/run/boxd.sock" >"$D/e" <<-'EOF'
	import socket, sys
	def text(t): return bytes([0xa0 | len(t)]) + t.encode()
	create = b'\x94\x00\x01' + text('create') + b'\x82' + text('session') + text('raw') + text('spec')
	c = socket.socket(socket.AF_UNIX)
	c.settimeout(60)
	c.connect(sys.argv[1])
	c.sendall(create + b'\x81' + text('require') + b'\x92' + text('netns') + text('moat'))
	print(c.recv(65536))
	EOF
	like "$(cat "$D/e")" "invalid.*spec.require: there is no wall 'moat'; there are: userns," "so does boxd"
else
	skip 1 "no python3 here to talk to boxd by hand"
fi
boxd_stop

# ---- a machine with fewer walls: the same one, without some of its mounts ----
hidden() { # mount points to hide from boxd
	awk '$3 == "cgroup2" || ($3 == "cgroup" && $4 ~ /(^|,)(memory|freezer)(,|$)/) { print $2 }' /proc/mounts
}
if [ "$(id -u)" != 0 ] || [ -z "$(hidden)" ] || ! unshare -m true 2>/dev/null; then
	skip 9 "this test hides cgroup mounts from boxd, which needs root and some"
	done_testing
fi
start_without() { # configuration file
	unshare -m sh -c 'for m in $2; do umount -l "$m" || exit 1; done
		exec "$1/boxd" --state-dir "$3/state" --runtime-dir "$3/run" -c "$4"' \
		start "$BUILD" "$(hidden)" "$D" "$1" </dev/null >>"$D/log" 2>&1 &
	BOXD_PID=$!
	eventually _ready_or_dead
	grep -aoE 'instance=[0-9a-f]{16}' "$D/log" | sed 's/.*=/boxd-/' >>"$D/.instances"
}
echo 'listen = none' >"$D/less.conf"
start_without "$D/less.conf"
like "$(boxctl status)" 'tier: +reduced' "less: the tier is reduced"
like "$(boxctl status)" 'cgroup.memory: .*; remedy: ' "less: what is missing is told, with a remedy"
unlike "$(boxctl status | grep 'walls:')" 'cgroup.memory|cgroup.kill|cgroup.freeze|swap' "less: and not told to be there"
is "$(boxctl run -- echo hello)" hello "less: who requires nothing gets what there is"
boxctl create --require netns,cgroup.memory 2>"$D/e"
is $? 1 "less: who requires it is refused"
like "$(cat "$D/e")" 'spec.require: this machine does not give the required wall cgroup.memory: .*not mounted.*remedy: ' \
	"less: with the wall, the reason and the remedy"
boxctl create --name s >/dev/null
boxctl pause s 2>"$D/e"
like "$(cat "$D/e")" 'no session can be paused here: cgroup.freeze: ' "less: a pause is refused with the reason"
boxctl rm s >/dev/null
boxd_stop
printf 'require = seccomp, cgroup.kill\n' >"$D/less.conf"
start_without "$D/less.conf"
ok "less: the operator's requirement keeps boxd from starting" _ended "$BOXD_PID"
like "$(tail -n 3 "$D/log")" 'boxd.conf: require: this machine does not give the required wall cgroup.kill: ' "less: with the reason"
BOXD_PID=
done_testing
