#!/bin/sh
# LangBot copies what a session object says into later commands: each value comes back exactly as it was asked for.
. t/lib/sh/hostile.sh
. t/lib/sh/langbot.sh
http_start 'spare_sandboxes = 1'

act() { # action data
	hostile 'my ($a, $d) = @ARGV; my $c = rpc();
		print answer($c, $a, $d, q({"instance_uuid": "inst-1", "workspace_uuid": "ws-1", "placement_generation": 1})), "\n"' "$@"
}
values() { sed 's/^.*\("image": .*\), "created_at".*$/\1/'; }
session_count() { boxctl ps --names | wc -l; }

# name, asked, expected
same() {
	asked="{\"session_id\": \"$1\", \"cmd\": \"echo ran\", $2}"
	is "$(act box_create_session "$asked" | values)" "$3" "$1: create"
	is "$(act box_get_session "{\"session_id\": \"$1\"}" | values)" "$3" "$1: get"
	is "$(act box_get_sessions '{}' | grep -o "\"session_id\": \"$1\".*" | sed 's/\("created_at"[^}]*}\).*/\1/' | values)" "$3" "$1: list"
	# as LangBot's next command has them
	copied=$(act box_get_session "{\"session_id\": \"$1\"}" | grep -oE '"(image|network|persistent|cpus|memory_mb|pids_limit|read_only_rootfs)": ("([^"\\]|\\.)*"|[^,]*)' | paste -sd,)
	before=$(act box_get_session "{\"session_id\": \"$1\"}" | grep -o '"backend_session_id": "[^"]*"')
	like "$(act box_exec "{\"session_id\": \"$1\", \"cmd\": \"echo ran\", $copied}")" '"exit_code": 0, "stdout": "ran"' "$1: a command that copies them runs"
	is "$(act box_get_session "{\"session_id\": \"$1\"}" | grep -o '"backend_session_id": "[^"]*"')" "$before" "$1: in the same sandbox"
}
rest='"host_path": null, "host_path_mode": "rw", "mount_path": "/workspace"'
same plain '"workdir": "/workspace"' \
	"\"image\": \"rockchin/langbot-sandbox:latest\", \"network\": \"off\", $rest, \"persistent\": false, \"cpus\": 1.0, \"memory_mb\": 512, \"pids_limit\": 128, \"read_only_rootfs\": true, \"workspace_quota_mb\": 0"
same third '"image": "registry.example.com:5000/A_b/c.d@sha256:07a830eb63fbfa33299aed7c2d4cf2782bf6b16d7f68b77050d7795f95b15cb4", "cpus": 0.3333333, "memory_mb": 97, "pids_limit": 33, "persistent": true' \
	"\"image\": \"registry.example.com:5000/A_b/c.d@sha256:07a830eb63fbfa33299aed7c2d4cf2782bf6b16d7f68b77050d7795f95b15cb4\", \"network\": \"off\", $rest, \"persistent\": true, \"cpus\": 0.3333333, \"memory_mb\": 97, \"pids_limit\": 33, \"read_only_rootfs\": true, \"workspace_quota_mb\": 0"
same writable '"cpus": 0.1, "read_only_rootfs": false, "image": "python:3.11-slim"' \
	"\"image\": \"python:3.11-slim\", \"network\": \"off\", $rest, \"persistent\": false, \"cpus\": 0.1, \"memory_mb\": 512, \"pids_limit\": 128, \"read_only_rootfs\": false, \"workspace_quota_mb\": 0"
same odd '"cpus": 1.0000000000000002, "memory_mb": 32, "pids_limit": 20, "image": "x"' \
	"\"image\": \"x\", \"network\": \"off\", $rest, \"persistent\": false, \"cpus\": 1.0000000000000002, \"memory_mb\": 32, \"pids_limit\": 20, \"read_only_rootfs\": true, \"workspace_quota_mb\": 0"
same online '"network": "on", "cpus": 2' \
	"\"image\": \"rockchin/langbot-sandbox:latest\", \"network\": \"on\", $rest, \"persistent\": false, \"cpus\": 2.0, \"memory_mb\": 512, \"pids_limit\": 128, \"read_only_rootfs\": true, \"workspace_quota_mb\": 0"
n=$(session_count)

# ---- and after a restart, from its state ----
one=$(act box_get_session '{"session_id": "third"}' | values)
vanish "$BOXD_PID"
boxd_start
http_find
is "$(act box_get_session '{"session_id": "third"}' | values)" "$one" "a restart keeps them"
is "$(session_count)" "$n" "and the sessions"
like "$(act box_exec '{"session_id": "third", "cmd": "echo ran", "image": "registry.example.com:5000/A_b/c.d@sha256:07a830eb63fbfa33299aed7c2d4cf2782bf6b16d7f68b77050d7795f95b15cb4", "cpus": 0.3333333, "memory_mb": 97, "pids_limit": 33, "persistent": true}')" '"stdout": "ran"' "a command with them runs"
for s in $(boxctl ps --names); do boxctl rm "$s" >/dev/null; done
boxctl ps --names | grep -q . && diag "left: $(boxctl ps --names)"
boxd_stop

# ---- where a network is only a loopback ----
boxd_config 'network_on = loopback'
boxd_start
http_find
same loopback '"network": "on"' \
	"\"image\": \"rockchin/langbot-sandbox:latest\", \"network\": \"on\", $rest, \"persistent\": false, \"cpus\": 1.0, \"memory_mb\": 512, \"pids_limit\": 128, \"read_only_rootfs\": true, \"workspace_quota_mb\": 0"
for text in ' x' 'a b' 'é'; do
	like "$(act box_create_session "{\"session_id\": \"bad\", \"cmd\": \"\", \"image\": \"$text\"}")" 'BoxValidationError: spec.image: ' "an image that boxd cannot name is refused, and not changed: '$text'"
done
done_testing
