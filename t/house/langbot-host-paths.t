#!/bin/sh
# LangBot's host_path: what is blocked says so in LangBot's words; a quota that is crossed ends the session, and the result is kept back.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start
mkdir -m 777 "$D/ws"
for path in /etc /etc/ssl /proc /sys /dev /boot /run /root; do
	[ -e "$path" ] || continue
	is "$(run ws-1 1 s true ", \"host_path\": \"$path\", \"mount_path\": \"/tmp\"")" "boxctl: host_path $path is blocked for security" "$path"
done
is "$(run ws-1 1 s true ", \"host_path\": \"$D/state\", \"mount_path\": \"/tmp\"")" "boxctl: host_path $D/state is blocked for security" "boxd's own directory"
is "$(listed ws-1 1)" "" "nothing was made"
mount() { printf ', "extra_mounts": [{"host_path": "%s", "mount_path": "/x", "mode": "%s"}]' "$1" "$2"; }
for mode in ro rw none; do
	is "$(run ws-1 1 s true "$(mount /etc $mode)")" "boxctl: extra_mounts.host_path /etc is blocked for security" "extra_mounts, $mode"
done
is "$(run ws-1 1 s true ", \"host_path\": \"/proc\", \"mount_path\": \"/tmp\"$(mount /etc ro)")" "boxctl: host_path /proc is blocked for security" "host_path is judged first"

# root's home is closed, and the refusal has the line that opens LangBot's directory there
if [ -w /root ] && own=$(mktemp -d /root/boxd-t.XXXXXX); then
	mkdir -p "$own/data/default/tenants/ws-9d14934957e7ea8dcfa33291" "$own/data/skill"
	chmod -R 777 "$own/data"
	in_home() { run ws-1 1 h 'echo mine >/workspace/f; cat /x/f' ", \"host_path\": \"$own/data/default/tenants/ws-9d14934957e7ea8dcfa33291\"$1"; }
	is "$(in_home)" "boxctl: host_path $own/data/default/tenants/ws-9d14934957e7ea8dcfa33291 is blocked for security; the operator can open it with mounts.allow = $own/data/default in boxd.conf" "a workspace in root's home"
	is "$(run ws-1 1 s true "$(mount "$own/data/skill" ro)")" "boxctl: extra_mounts.host_path $own/data/skill is blocked for security; the operator can open it with mounts.allow = $own/data/skill in boxd.conf" "a skill there"
	boxd_stop
	echo skill >"$own/data/skill/f"
	boxd_config "mounts.allow = $own/data, $D"
	boxd_start
	is "$(in_home "$(mount "$own/data/skill" ro)" | field stdout)" 'skill\n' "mounts.allow opens both"
	is "$(cat "$own/data/default/tenants/ws-9d14934957e7ea8dcfa33291/f")" mine "to write to, where it is writable"
	is "$(run ws-1 1 s true ", \"host_path\": \"$own\", \"mount_path\": \"/tmp\"")" "boxctl: host_path $own is blocked for security; the operator can open it with mounts.allow = $own/data, $D, $own in boxd.conf" "and nothing beside it"
	lb delete ws-1 1 "$(named h)" >/dev/null
	rm -rf "$own"
else
	skip 5 "/root cannot be written to"
fi

in_ws() { lb exec ws-1 1 "\"spec\": {\"session_id\": \"q\", \"cmd\": \"$1\", \"workdir\": \"/workspace\", \"host_path\": \"$D/ws\", \"workspace_quota_mb\": 1}"; }
is "$(in_ws 'head -c 1000 /dev/zero >small; echo ok' | field stdout)" 'ok\n' "within its quota"
out=$(in_ws 'head -c 3000000 /dev/zero >large; sleep 1; echo ok')
case $out in
*'"stdout"'*) # the kernel refused the write, so nothing is over
	pass "the kernel holds the quota"
	pass "the session stays"
	pass "so do its files"
	;;
*)
	like "$out" 'workspace quota exceeded (after|during) execution: used=[0-9]+ bytes limit=1048576 bytes entries=[0-9]+ host_path=.* session_id=q$' "over it: told, with the logical id, instead of the result"
	is "$(listed ws-1 1)" "" "the session is gone"
	ok "its files stay" test -e "$D/ws/small"
	;;
esac
done_testing
