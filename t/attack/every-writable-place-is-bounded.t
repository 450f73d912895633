#!/bin/sh
# With a quota on the workspace, there is no other place where a session can keep more.
. t/lib/sh/boxd.sh
boxd_config 'spare_sandboxes = 0' 'workspace_entries = 3000' 'tmp_mb = 16'
boxd_start
mkdir "$D/w" "$D/x" "$D/y" "$D/ro"
echo x >"$D/file"
boxctl create --name s --host-path "$D/w" --workspace-quota 8 --memory 64 --mount "$D/x:/x:rw" --mount "$D/y:/y:rw" \
	--mount "$D/file:/file:rw" --mount "$D/ro:/ro:ro" >/dev/null
like "$(disk s quota)" 'a watcher for what is in 3 writable extra mounts' "session info tells what is watched"
clean() {
	rm -rf "$D/w"/* "$D/x"/* "$D/y"/*
	: >"$D/file"
}
kills() { # place command
	is "$(box exec s -t 30 -o json -c "$2
		sleep 98765" 2>/dev/null | field cause)" disk "$1: more than the quota is killed"
	clean
}
kills "the workspace" 'head -c 20000000 /dev/zero >f'
kills "a writable extra mount" 'head -c 20000000 /dev/zero >/x/f'
kills "a writable file" 'head -c 20000000 /dev/zero >/file'
kills "a little in each, and together too much" 'for f in f /x/f /y/f; do head -c 4000000 /dev/zero >$f; done'
kills "a file of an extra mount that was removed" 'exec 9>/x/f; rm /x/f; head -c 20000000 /dev/zero >&9'
kills "an endless number of files in an extra mount" 'i=0; while [ $i -lt 4000 ]; do : >/y/$i; i=$((i+1)); done'
is "$(box exec s -- echo fine)" fine "less than that is fine"

boxctl exec s -t 60 -o json -c 'touch /x/ready; sleep 98765' >"$D/out" 2>/dev/null &
job=$!
eventually test -e "$D/x/ready"
kill -9 "$(boxctl inspect s -o json | field worker_pid)"
replaced() { boxctl inspect s -o json | grep -q '"worker_restarts": 1' && boxctl inspect s -o json | grep -q '"state": "ready"'; }
eventually replaced
head -c 20000000 /dev/zero >"$D/x/f"
wait $job
is "$(field cause <"$D/out")" disk "a worker that takes over watches extra mounts too"
like "$(disk s quota)" 'a watcher for what is in 3 writable extra mounts too$' "and tells so once"
clean
boxctl rm s >/dev/null

# a workspace that the kernel keeps, with an extra mount that it does not
boxctl create --name s --workspace-quota 8 --memory 64 --mount "$D/x:/x:rw" >/dev/null
kills "an extra mount beside a private workspace" 'head -c 20000000 /dev/zero >/x/f'

# What is left that can be written: file systems of a fixed size, and memory.
places=$(box exec s -- awk '$4 ~ /^rw/ { print $2 }' /proc/mounts | sort | tr '\n' ' ')
for place in $places; do
	case $place in
	/x) pass "$place: by the watcher, as above" ;;
	/proc | /proc/* | /sys | /sys/*) box exec s -c "! touch $place/f" 2>/dev/null; ok "$place: no file can be made" ;;
	/dev/pts) box exec s -c "! touch $place/f" 2>/dev/null; ok "$place: no file can be made" ;;
	*) size=$(box exec s -- df -k --output=size "$place" | tail -n 1); ok "$place: a file system of $size KiB" [ "$size" -le 2000000 ] ;;
	esac
done
queues=$(box exec s -- sed -n 's/^Max msgqueue size *[0-9]* *//p' /proc/self/limits)
ok "message queues: ${queues%% *} bytes" [ "${queues%% *}" -le 1048576 ]
boxctl create --name root --workspace-quota 8 --memory 64 --writable-root >/dev/null
size=$(box exec root -- df -k --output=size / | tail -n 1)
ok "a writable root: a file system of $size KiB" [ "$size" -le 2000000 ]
like "$places" '/tmp ' "places were looked at: $places"
done_testing
