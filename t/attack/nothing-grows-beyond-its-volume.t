#!/bin/sh
# Where strict readiness passes an attacker fills bytes, files, /tmp, the root and the skills, and each time the kernel refuses.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
need_pool
mkdir "$D/w" "$D/skills"
boxd_config 'spare_sandboxes = 0' 'pool_workspace_mb = 32' 'inodes = 1000'
boxd_start
boxctl pool create "$D/skills" --size 16M --inodes 200 >/dev/null
strict '"readiness_cache_sec": 3600, "memory_mb": 128, "read_only_rootfs": false, "max_timeout_sec": 60' >/dev/null
is "$(host health | field ready)" true "the machine is ready"
grant ws-1 1 1 250 >/dev/null
grant ws-2 1 1 250 >/dev/null
work() { lb exec "$1" 1 "\"spec\": {\"session_id\": \"s\", \"cmd\": \"$2\", \"workdir\": \"/workspace\", \"timeout_sec\": 60}"; }
refusals='No space left on device|Disk quota exceeded'
attack() { # name command
	_out=$(work ws-1 "$2")
	like "$(printf '%s\n' "$_out" | field stderr)" "$refusals" "$1: refused"
}
size=$((32 * 1048576))
used() { du -sB1 --apparent-size "$D/w/tenants" | cut -f1; }

# ---- bytes ----
attack "one large file" 'head -c 200M /dev/urandom >big'
ok "no more than the volume has is there" [ "$(used)" -le $size ]
attack "many small ones beside it" 'for i in 1 2 3 4 5 6 7 8 9; do head -c 1M /dev/urandom >small$i; done'
attack "a reserved one" 'fallocate -l 200M reserved'
attack "one without a name" 'exec 3>gone; rm gone; head -c 200M /dev/urandom >&3'
work ws-1 'rm -rf big small* reserved' >/dev/null
is "$(work ws-2 'head -c 8M /dev/urandom >mine && echo fine' | field stdout)" 'fine\n' "another workspace is not touched by that"
# a hole takes nothing; what is written into it is refused
attack "a file with a hole, filled" 'truncate -s 1T hole; head -c 200M /dev/urandom | dd of=hole bs=1M seek=500 conv=notrunc 2>&1 >/dev/null | grep -i space >&2'
work ws-1 'rm -f hole' >/dev/null

# ---- files ----
attack "empty files" 'mkdir d; i=0; while [ $i -lt 200000 ]; do true >d/$i || break; i=$((i+1)); done'
attack "directories" 'mkdir e e/f'
work ws-1 'rm -rf d e' >/dev/null
is "$(work ws-1 'echo again >x && cat x' | field stdout)" 'again\n' "with room again it works"

# ---- elsewhere ----
for at in /tmp /home /dev/shm /var/tmp /etc /; do
	_out=$(work ws-1 "head -c 100M /dev/zero >$at/fill; rm -f $at/fill")
	like "$(printf '%s\n' "$_out" | field stderr)" "$refusals|Read-only|Permission denied|No such file" "bytes in $at: refused"
done
for at in /tmp /dev/shm; do
	attack "files in $at" "cd $at; i=0; while [ \$i -lt 5000 ]; do true >n\$i || break; i=\$((i+1)); done; rm -f n*"
done

# ---- skills ----
head -c 64M /dev/urandom >"$D/skills/fill" 2>"$D/err"
like "$(cat "$D/err")" "$refusals" "bytes in the skills: refused, also to root"
rm "$D/skills/fill"
(cd "$D/skills" && i=0 && while [ $i -lt 5000 ]; do : >f$i || exit 1; i=$((i + 1)); done) 2>"$D/err"
like "$(cat "$D/err")" "$refusals" "files in the skills: refused"
rm -f "$D/skills"/f*

# ---- the limit cannot be moved ----
attack_fails() { # name command
	_out=$(work ws-1 "$2 && echo DONE")
	unlike "$(printf '%s\n' "$_out" | field stdout)" DONE "$1"
}
attack_fails "it cannot be mounted anew" 'mount -o remount,size=1G /workspace'
attack_fails "nor unmounted" 'umount /workspace'
attack_fails "its device cannot be seen" 'ls /dev/loop*'
drop_volumes
done_testing
