#!/bin/sh
# LangBot's host_path: what is blocked says so in LangBot's words; a quota that is crossed ends the session, and the result is kept back.
. t/lib/boxd.sh
. t/lib/langbot.sh
boxd_start
mkdir -m 777 "$D/ws"
for path in /etc /etc/ssl /proc /sys /dev /boot /run /root; do
	[ -e "$path" ] || continue
	is "$(run ws-1 1 s true ", \"host_path\": \"$path\", \"mount_path\": \"/tmp\"")" "boxctl: host_path $path is blocked for security" "$path"
done
is "$(run ws-1 1 s true ", \"host_path\": \"$D/state\", \"mount_path\": \"/tmp\"")" "boxctl: host_path $D/state is blocked for security" "boxd's own directory"
is "$(listed ws-1 1)" "" "nothing was made"

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
