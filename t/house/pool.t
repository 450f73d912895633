#!/bin/sh
# A volume is a directory with a size of its own: made, told, mounted again by every start, and removed only when asked to.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
need_pool
boxd_config 'spare_sandboxes = 0'
boxd_start
refused() { # text name command...
	_text=$1 _name=$2
	shift 2
	said=$("$@" 2>&1)
	is $? 1 "$_name: refused"
	like "$said" "$_text" "$_name: it says why"
}

# ---- make ----
is "$(boxctl pool status -o json | tr -d ' \n')" '{"volumes":[],"truncated":false}' "at first there is none"
mkdir -m 750 "$D/v"
chown 1234:2345 "$D/v"
is "$(boxctl pool create "$D/v" --size 32M --inodes 300)" "$D/v" "a volume is made"
ok "and mounted" mounted "$D/v"
is "$(stat -c '%u %g %a' "$D/v")" "1234 2345 750" "owner and mode are those of the directory"
is "$(ls -A "$D/v")" "" "it is empty"
ok "it is of that size" [ "$(stat -f -c '%b * %S' "$D/v" | sed 's/.*/echo $((&))/' | sh)" -le $((32 * 1048576)) ]
is "$(stat -c %b "$D"/state/pool/*.img | awk '{ print ($1 * 512 >= 32 * 1048576) }')" 1 "all of its space is taken from the start"
like "$(boxctl pool status)" "$D/v +32 MiB .* of 3[0-9][0-9] +mounted" "status tells it"
is "$(stat -c %a "$D/state/pool")" 700 "nobody else sees the images"

# ---- it is bounded ----
head -c 64M /dev/zero >"$D/v/f" 2>"$D/err"
like "$(cat "$D/err")" 'No space left' "more bytes are refused, also to the host's root"
rm "$D/v/f"
(i=0; while [ $i -lt 1000 ]; do : >"$D/v/$i" || exit 1; i=$((i + 1)); done) 2>"$D/err"
like "$(cat "$D/err")" 'No space left|cannot create' "more files are refused, too"
rm -f "$D/v"/[0-9]*
echo keep >"$D/v/keep"
boxctl create --name s --host-path "$D/v" --workspace-quota 32 >/dev/null
is "$(disk s quota)" "the size of its own file system" "a session in it needs no watcher"
is "$(disk s hard_bytes) $(disk s hard_inodes)" "true true" "its limits are hard"
boxctl create --name t --host-path "$D/v" --workspace-quota 8 >/dev/null
like "$(disk t quota)" 'watcher.*a file system of its own, but of [0-9]+ MiB' "a smaller quota than the volume is watched"

# ---- again and wrong ----
is "$(boxctl pool create "$D/v" --size 64M -o json | field size_mb)" 32 "the same again is the one that is there"
mkdir "$D/full" && echo mine >"$D/full/file"
refused "has files: --take-in" "a directory with files" boxctl pool create "$D/full" --size 16M
is "$(cat "$D/full/file")" mine "they are still there"
ln -s "$D/v" "$D/link"
refused 'symlink' "a symlink" boxctl pool create "$D/link/x" --size 16M
refused 'symlink' "a symlink at the end" boxctl pool create "$D/link" --size 16M
refused 'no volume can be mounted at /etc/x' "a place of the system's" boxctl pool create /etc/x --size 16M
refused 'no volume can be mounted at ' "boxd's own" boxctl pool create "$D/state/sessions/x" --size 16M
refused 'not absolute' "a relative path" boxctl pool create v --size 16M
refused 'No space left' "more than the disk has" boxctl pool create "$D/big" --size 15000G
ok "nothing is left of that" [ ! -e "$D/state/pool/.image."* ]
said=$(boxctl pool create "$D/v2" --size 4M 2>&1)
is $? 2 "too small"
like "$said" "'4M' is not in 16\.\." "and it says so"
boxctl pool create "$D/v2" >/dev/null 2>&1
is $? 2 "a size is needed"
mkdir "$D/t" && mount -t tmpfs none "$D/t"
refused 'something else is mounted' "where something is mounted" boxctl pool create "$D/t" --size 16M
umount "$D/t"
is "$(volumes)" "$D/v" "there is still one"

# ---- taken in ----
chown 77 "$D/full/file"
is "$(boxctl pool create "$D/full" --size 16M --take-in)" "$D/full" "files are taken in when asked to"
ok "it is mounted" mounted "$D/full"
is "$(cat "$D/full/file") $(stat -c %u "$D/full/file")" "mine 77" "they are in it, as they were"
is "$(cat "$D/.before-volume-full/file")" mine "and the directory as it was is beside it"
mkdir "$D/much"
head -c 20M /dev/urandom >"$D/much/file"
refused 'copy the files of .*No space left' "more files than fit" boxctl pool create "$D/much" --size 16M --take-in
ok "they stay where they are" [ "$(stat -c %s "$D/much/file")" = 20971520 ]
is "$(ls "$D"/state/pool/*.img | wc -l)" 2 "and no image is left of that"
boxctl rm s t >/dev/null

# ---- restarts ----
boxd_stop
ok "after boxd's end it is still mounted" mounted "$D/v"
boxd_start
is "$(cat "$D/v/keep")" keep "the next start finds it"
boxd_stop
umount "$D/v" "$D/full"
boxd_start
ok "one that is not mounted, as after a boot, is mounted again" mounted "$D/v"
is "$(cat "$D/v/keep") $(cat "$D/full/file")" "keep mine" "with its files"
boxd_stop
umount "$D/v"
echo stray >"$D/v/stray"
boxd_start
ok "where files are that it would hide it is not mounted" [ "$(cat "$D/v/stray")" = stray ]
like "$(cat "$D/log")" "volume $D/v: $D/v has files, which a volume would hide" "the log tells it"
like "$(boxctl pool status)" "$D/v +32 MiB .*not mounted" "and status"
refused 'has files, which' "create does not hide them either" boxctl pool create "$D/v" --size 32M
rm "$D/v/stray"
is "$(boxctl pool create "$D/v" --size 32M)" "$D/v" "when they are gone it is mounted"
is "$(cat "$D/v/keep")" keep "with its own"

# ---- remove ----
refused 'has files: --force' "one with files" boxctl pool remove "$D/v"
boxctl create --name s --host-path "$D/v" --workspace-quota 32 >/dev/null
(cd "$D/v" && exec sleep 98765) &
job=$!
inside() { [ "$(readlink /proc/$job/cwd)" = "$D/v" ]; }
eventually inside
refused 'is in use' "one in use" boxctl pool remove --force "$D/v"
kill $job
wait $job 2>/dev/null
is "$(cat "$D/v/keep")" keep "it is as it was"
boxctl rm s >/dev/null
boxctl pool remove --force "$D/v"
is "$?" 0 "with force it goes"
ok "unmounted" [ -z "$(ls -A "$D/v")" ]
refused 'there is no volume of' "twice" boxctl pool remove "$D/v"
drop_volumes
is "$(ls -A "$D/state/pool")" "" "nothing is left in the pool"
done_testing
