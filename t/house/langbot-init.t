#!/bin/sh
# box_init: what it changes, what it leaves, and that the next boxd knows it.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_config "mounts.allow = $D, /root/opened" # below root's home only what is named
boxd_start
backend() { host backend_info | field backend; }
limit() { lb status ws-1 1 | field "$1"; }

is "$(backend)" native "before LangBot says anything"
for name in local '' nsjail docker e2b host nonsense local; do
	host init "\"has_backend\": true, \"backend\": \"$name\"" >/dev/null
	case $name in local|'') want=native ;; nsjail|host) want=$name ;; *) want= ;; esac
	is "$(backend)" "$want" "box.backend '$name'"
done
host init '"has_backend": true, "backend": "docker"' >/dev/null
is "$(host backend_info | field available)" false "docker is not available"
is "$(run ws-1 1 s true)" "boxctl: LangBot Box backend unavailable. Install and start Docker or nsjail, configure E2B, or explicitly select the unsafe host backend." "and a command is told"
host init '"has_backend": true, "backend": "nsjail"' >/dev/null
is "$(run ws-1 1 s true | field backend)" nsjail "by the name that LangBot wants"

host init '"has_limits": true, "limits": {"max_sessions": 7, "max_managed_processes": 8}, "limits_given": ["max_sessions", "max_managed_processes"]' >/dev/null
host init '"has_limits": true, "limits": {"max_sessions": 9}, "limits_given": ["max_sessions"]' >/dev/null
is "$(limit max_sessions) $(limit max_managed_processes) $(limit max_completed_processes)" "9 8 256" "limits that are not given stay"
is "$(host init | tr -d ' \n')" '{}' "an empty one"
is "$(limit max_sessions) $(backend)" "9 nsjail" "changes nothing"
like "$(host init '"has_limits": true, "limits": {"max_sessions": 9999}' 2>&1)" max_sessions "what is out of range is refused"
is "$(limit max_sessions)" 9 "and changes nothing"
for i in 1 2 3 4 5 6 7 8; do
	host init "\"has_limits\": true, \"limits\": {\"max_sessions\": 3$i}, \"limits_given\": [\"max_sessions\"]" >"$D/init.$i" &
	clients="$clients $!"
done
wait $clients
is "$(cat "$D"/init.* | tr -d ' \n')" '{}{}{}{}{}{}{}{}' "eight at once are done one after the other"
like "$(limit max_sessions)" '^3[1-8]$' "one of them is the last"
host init '"has_limits": true, "limits": {"max_sessions": 9}, "limits_given": ["max_sessions"]' >/dev/null
boxd_stop
boxd_start
is "$(limit max_sessions) $(limit max_managed_processes) $(backend)" "9 8 nsjail" "after a restart it is as it was"

# directories, where box-store serves
if box call skill_list '{"context": {"instance": "i", "workspace": "w", "generation": 1}}' 2>&1 | grep -q 'no box-store'; then
	skip 30 "there is no box-store"
	done_testing
fi
mkdir -m 755 "$D/root" "$D/root/box" "$D/else"
mkdir -m 777 "$D/root/box/mine" "$D/else/dir"
section() { printf '"has_local": true, "local": {"host_root": "%s/root/box", "default_workspace": "%s", "skills_root": "skills", "allowed_mount_roots": ["%s/root"]}' "$D" "$1" "$D"; }
is "$(host init "$(section "")" | tr -d ' \n')" '{}' "roots"
ok "the default workspace is made" test -d "$D/root/box/default"
mount() { create ws-1 1 "$1" ", \"host_path\": \"$2\""; }
is "$(mount in "$D/root/box/mine" | field host_path)" "$D/root/box/mine" "a host_path below a root"
is "$(mount out "$D/else/dir")" "boxctl: host_path is outside allowed_mount_roots: $D/root" "one that is not"
is "$(mount out "$D/rootless")" "boxctl: host_path is outside allowed_mount_roots: $D/root" "a root is no prefix of letters"
like "$(mount out "$D/root/../else/dir")" 'outside allowed_mount_roots' "nor is there a way by .."
is "$(create ws-1 1 extra ", \"extra_mounts\": [{\"host_path\": \"$D/else/dir\", \"mount_path\": \"/workspace/x\", \"mode\": \"ro\"}]")" \
	"boxctl: extra_mounts.0.host_path is outside allowed_mount_roots: $D/root" "extra mounts are looked at, too"
for path in /etc /etc/ssl /srv/../etc/ssl /var/run/x / "$D/state" "$D/state/sessions/1" "$D"; do
	is "$(mount out "$path")" "boxctl: host_path $path is blocked for security" "$path is outside too, but first of all it is blocked"
	is "$(create ws-1 1 extra ", \"extra_mounts\": [{\"host_path\": \"$path\", \"mount_path\": \"/workspace/x\", \"mode\": \"ro\"}]")" \
		"boxctl: extra_mounts.host_path $path is blocked for security" "as an extra mount"
done
is "$(mount out /root/opened/x)" "boxctl: host_path is outside allowed_mount_roots: $D/root" "one that the operator has opened is only outside"
is "$(mount out /root/other)" "boxctl: host_path /root/other is blocked for security; the operator can open it with mounts.allow = $D, /root/opened, /root/other in boxd.conf" "unlike one beside it"
ln -s "$D/else/dir" "$D/root/box/link"
like "$(mount link "$D/root/box/link")" 'outside of LangBot.s allowed_mount_roots' "a symlink does not lead out"
is "$(mount t "$D/root/box/default/tenants/ws-9d14934957e7ea8dcfa33291" | field session_id)" t "its own workspace, below the default one"
ok "is made" test -d "$D/root/box/default/tenants/ws-9d14934957e7ea8dcfa33291"
like "$(host init "$(section "$D/else/ws")")" 'default_workspace is outside allowed_mount_roots' "a default workspace elsewhere is refused"
is "$(mount out2 "$D/else/dir")" "boxctl: host_path is outside allowed_mount_roots: $D/root" "and nothing is changed by that"
done_testing
