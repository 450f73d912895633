#!/bin/sh
# What is mounted from the host gives no rights on it but those asked for: no setuid, no devices, no other mounts, no other owner.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "making setuid files, devices and mounts needs root"
boxd_start
field() { boxctl inspect "$1" -o json | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -n 1; }
mkdir "$D/w" "$D/ro" "$D/w/sub" "$D/rootdir"
chown 1234:2345 "$D/w"
cp "$(command -v id)" "$D/w/suid"; chown 1234 "$D/w/suid"; chmod 6755 "$D/w/suid"
cp "$(command -v id)" "$D/w/suid-other"; chown 4321 "$D/w/suid-other"; chmod 4755 "$D/w/suid-other"
mknod "$D/w/null" c 1 3; mknod "$D/w/disk" b 8 0; chmod 666 "$D/w/null" "$D/w/disk"
mount -t tmpfs hidden "$D/w/sub" && : >"$D/w/sub/secret"
echo theirs >"$D/w/theirs"; chown 4321:4321 "$D/w/theirs"; chmod 600 "$D/w/theirs"
echo roots >"$D/w/roots"; chmod 600 "$D/w/roots"
echo x >"$D/ro/f"
boxctl create --name s --host-path "$D/w" --mount "$D/ro:/ro:ro" --mount "$D/rootdir:/rootdir" >/dev/null

mounts=$(in_box -- cat /proc/self/mounts)
for m in /workspace /ro /rootdir; do
	like "$(printf '%s\n' "$mounts" | grep " $m ")" 'nosuid,nodev' "$m is nosuid and nodev"
done
is "$(in_box -c './suid -u; ./suid-other -u' | sort -u)" 0 "setuid files run as whoever runs them"
like "$(in_box -c 'cp /usr/bin/id mine; chmod 6755 mine')" 'not permitted' "none can be made"
like "$(in_box -c 'cat null')" 'denied|not permitted' "a device node does not work"
like "$(in_box -c 'head -c 1 disk')" 'denied|not permitted' "nor a disk"
like "$(in_box -c 'mknod mine2 c 1 3')" 'not permitted|denied' "and none can be made"
is "$(in_box -c 'ls sub')" "" "what is mounted below is not there"
like "$(in_box -c 'cat theirs')" 'denied' "a file of another owner stays closed"
like "$(in_box -c 'cat roots')" 'denied' "also root's, which root inside is not"
like "$(in_box -c 'chown 5 suid; chown 0:5 suid; chown 1234 suid')" 'not permitted|Invalid|too large' "nothing can be given to others"
like "$(in_box -c 'rm -f theirs; mv theirs x; echo x >theirs')" 'too large|not permitted' "nor can a file of another owner be removed or replaced"
is "$(stat -c %u:%g "$D/w/theirs"; cat "$D/w/theirs")" "4321:4321
theirs" "it is as it was"
is "$(stat -c %u:%g "$D/w/mine")" 1234:2345 "what is written belongs to the directory's owner"
in_box -c 'echo a >/rootdir/a' >/dev/null
is "$(stat -c %u:%g "$D/rootdir/a")" 0:0 "also when that is root"
for c in 'echo x >/ro/f' 'rm /ro/f' 'touch /ro/f' 'chmod 777 /ro' 'mkdir /ro/x' 'ln /ro/f /ro/g'; do
	like "$(in_box -c "$c")" 'Read-only' "ro: $c"
done
like "$(in_box -c 'mount -o remount,rw /ro; mount --bind /workspace /ro; umount /workspace')" 'not permitted|must be (superuser|root)|denied' "no mount can be changed from inside"
like "$(in_box -c 'ln /ro/f /workspace/f')" 'cross-device|Invalid' "no hard link crosses mounts"
is "$(in_box -c 'ls /workspace/.. | tr "\n" " "; ls -d /workspace/../../../../../root/.ssh 2>/dev/null')" "$(in_box -c 'ls / | tr "\n" " "')" ".. leads to the sandbox's own root"
unlike "$(in_box -- cat /proc/self/mountinfo)" "$D/run|$D/state/[^r]" "the host's paths that are told are those that were mounted"
worker=$(field s worker_pid)
like "$(grep CapEff "/proc/$worker/status")" "0000000000000000$" "the worker has no capability left"
umount "$D/w/sub"
boxctl rm s >/dev/null
is "$(grep -c "$D" /proc/self/mountinfo)" 0 "no mount of it is left on the host"
done_testing
