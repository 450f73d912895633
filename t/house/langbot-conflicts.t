#!/bin/sh
# The same id with another spec: told by its first field that differs, as Python prints it; other mounts are no conflict.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_config 'network_on = loopback'
boxd_start
mkdir "$D/a" "$D/b"
chmod 777 "$D/a" "$D/b"

sandbox() { create "$@" | field backend_session_id; }
first=$(sandbox ws-1 1 s)
conflict() { # field=value, of the one that is there; more of the spec
	is "$(create ws-1 1 s "$2")" "boxctl: Box session s already exists with $1" "another ${1%%=*}"
}
conflict network=off ', "network": "on"'
conflict image= ', "image": "alpine:latest"'
conflict host_path=None ", \"host_path\": \"$D/a\""
conflict host_path_mode=rw ', "host_path_mode": "ro"'
conflict mount_path=/workspace ', "mount_path": "/data"'
conflict persistent=False ', "persistent": true'
conflict cpus=1.0 ', "cpus": 2'
conflict memory_mb=512 ', "memory_mb": 256'
conflict pids_limit=128 ', "pids_limit": 64'
conflict read_only_rootfs=True ', "read_only_rootfs": false'
conflict workspace_quota_mb=0 ', "workspace_quota_mb": 10'
conflict network=off ', "network": "on", "cpus": 2, "image": "x"'
is "$(run ws-1 1 s true ', "cpus": 2')" "boxctl: Box session s already exists with cpus=1.0" "a command finds it, too"
is "$(sandbox ws-1 1 s)" "$first" "none of them changed anything"

create ws-1 1 t ", \"network\": \"on\", \"cpus\": 0.25, \"persistent\": true, \"host_path\": \"$D/a\"" >/dev/null
is "$(create ws-1 1 t ", \"cpus\": 0.25, \"persistent\": true, \"host_path\": \"$D/a\"")" "boxctl: Box session t already exists with network=on" "the network that was asked for is remembered"
is "$(create ws-1 1 t ", \"network\": \"on\", \"cpus\": 1, \"persistent\": true, \"host_path\": \"$D/a\"")" "boxctl: Box session t already exists with cpus=0.25" "cpus=0.25"
is "$(create ws-1 1 t ", \"network\": \"on\", \"persistent\": true")" "boxctl: Box session t already exists with host_path=$D/a" "a host_path as it was given"
is "$(create ws-1 1 t ", \"network\": \"on\", \"cpus\": 0.25, \"host_path\": \"$D/a\"")" "boxctl: Box session t already exists with persistent=True" "persistent=True"
is "$(lb get ws-1 1 "$(named t)" | field network)" on "and is told"
like "$(cat "$D/log")" 'asked for network: on, and has loopback only' "though the log tells what it got"

# workdir, env, timeout and cmd are not compared
is "$(says ws-1 1 s 'echo $X' ', "env": {"X": "1"}, "timeout_sec": 7')" '1\n' "what concerns one command is no conflict"

# mounts
mounts() { printf ', "extra_mounts": [%s]' "$1"; }
A="{\"host_path\": \"$D/a\", \"mount_path\": \"/workspace/a\", \"mode\": \"rw\"}"
B="{\"host_path\": \"$D/b\", \"mount_path\": \"/workspace/b\", \"mode\": \"none\"}"
one=$(sandbox ws-1 1 m "$(mounts "$A")")
is "$(sandbox ws-1 1 m "$(mounts "$A, $B")")" "$one" "a mount of mode none is no other set"
is "$(sandbox ws-1 1 m "$(mounts "$A, $A")")" "$one" "nor is the same one twice"
run ws-1 1 m 'echo x >/workspace/a/f; echo y >/tmp/f' "$(mounts "$A")" >/dev/null
other=$(sandbox ws-1 1 m)
is "$other" "$one" "without it: the same sandbox"
is "$(says ws-1 1 m 'echo $(ls /workspace/a /tmp)')" '/tmp: f /workspace/a:\n' "in which the mount is not seen, and all else is"
is "$(cat "$D/a/f")" x "what was written outside stays"

# with a quota, too: what is mounted later counts against it; the sandbox is one that was built ahead, without a quota
Q=', "workspace_quota_mb": 8'
one=$(sandbox ws-1 1 q "$Q")
is "$(says ws-1 1 q 'echo y >/tmp/f; echo x >/workspace/a/f; echo fine' "$Q$(mounts "$A")")" 'fine\n' "with a quota: another writable mount"
is "$(sandbox ws-1 1 q "$Q$(mounts "$A")")" "$one" "it is the same sandbox"
is "$(says ws-1 1 q 'cat /tmp/f' "$Q")" 'y\n' "and has its files"
boxd_stop

boxd_config 'network_on = refuse'
boxd_start
like "$(create ws-1 1 n ', "network": "on"')" "network: 'on' is refused here" "network_on = refuse: there is no such network"
boxd_config 'network_on = perhaps'
like "$("$BUILD/boxd" --check-config -c "$D/boxd.conf" 2>&1)" "network_on: 'perhaps' should be egress, slirp, loopback or refuse" "and no other value"
many() { perl -e 'print join ", ", map { qq({"host_path": "/usr/share", "mount_path": "/m$_", "mode": "ro"}) } 1 .. $ARGV[0]' "$1"; }
is "$(says ws-1 1 many 'ls -d /m* | wc -l' ", \"extra_mounts\": [$(many 256)]")" '256\n' "256 mounts are taken"
is "$(run ws-1 1 more true ", \"extra_mounts\": [$(many 257)]")" "boxctl: extra_mounts: there are more than the 256 that a session may have" "one more is refused"
done_testing
