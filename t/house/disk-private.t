#!/bin/sh
# A private workspace has a size and a number of files, by whatever mechanism, and session disk tells which.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "only root's boxd has more than tmpfs"
boxd_config 'spare_sandboxes = 0' 'inodes = 512'
loops() { losetup -a | grep -F "$D/"; }
no_loops() { [ -z "$(loops)" ]; }
anew() { # configuration line: a daemon with only that one of its kind
	boxd_stop
	sed -i '/^workspace_backend/d' "$D/boxd.conf"
	boxd_config "$1"
	boxd_start
}

# Bytes and files up to the limit that is told, and no further.  $1 session, $2 bytes asked for
hit() {
	_limit=$(disk "$1" limit_bytes)
	ok "the limit is what was asked for, or little more" [ "$_limit" -ge "$2" ]
	ok "not much more" [ "$_limit" -le $(($2 + $2 / 8 + 4194304)) ]
	is "$(disk "$1" hard_bytes)" true "the kernel refuses bytes"
	boxctl exec "$1" -c 'exec 2>/tmp/err; mkdir d && head -c 500000000 /dev/zero >d/fill; stat -c %s d/fill >/tmp/size; rm -r d; grep -c -e "No space left" -e "quota exceeded" /tmp/err' >"$D/out"
	is "$(cat "$D/out")" 1 "more bytes are refused"
	_got=$(boxctl exec "$1" -- cat /tmp/size)
	ok "all that was promised could be written ($_got of $_limit)" [ "$_got" -ge $(($2 - $2 / 16)) ]
	ok "and no more than the limit" [ "$_got" -le $((_limit + _limit / 16)) ]
	is "$(boxctl exec "$1" -c 'truncate -s 100G sparse && head -c 5000000 /dev/zero | dd of=sparse conv=notrunc seek=9999 bs=1M 2>/dev/null && du -k sparse | cut -f1 | sed "s/...\$/000/"')" 4000 \
		"a sparse file costs what is in it"
	like "$(boxctl exec "$1" -c 'fallocate -l 100G big 2>&1; rm -f sparse big')" 'No space left|quota exceeded|too large' "fallocate is refused"
	boxctl exec "$1" -c 'head -c 30000000 /dev/zero >a && for i in 1 2 3 4 5; do ln a b$i || exit 1; done; rm a b*'
	ok "hard links cost nothing"
}

few_files() { # session
	is "$(disk "$1" hard_inodes)" true "the kernel refuses files"
	_limit=$(disk "$1" limit_inodes)
	_n=$(boxctl exec "$1" -c 'i=0; while true >f$i; do i=$((i+1)); done 2>/dev/null; echo $i; rm -f f*')
	ok "so many files and no more ($_n of $_limit)" [ "$_n" -le "$_limit" ]
	ok "about as many as are told" [ "$_n" -ge $((_limit - 16)) ]
}

# ---- tmpfs ----
boxd_config 'workspace_backend = tmpfs'
boxd_start
boxctl create --name s --workspace-size 64 --memory 256 >/dev/null
is "$(disk s workspace)" tmpfs "tmpfs: by name"
hit s 67108864
few_files s
for dir in /tmp '$HOME' /dev/shm; do
	is "$(boxctl exec s -c "cd $dir; rm -rf *; i=0; while true >f\$i; do i=\$((i+1)); done 2>/dev/null; echo \$i; rm -f f*")" 511 \
		"$dir: so many files and no more"
	like "$(boxctl exec s -c "cd $dir; fallocate -l 65M f 2>&1; rm -f f")" 'No space left' "$dir: so many bytes and no more"
done
boxctl rm s >/dev/null

# ---- loop ----
if [ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null; then
	anew 'workspace_backend = loop'
	boxctl create --name s --workspace-size 64 >/dev/null
	is "$(disk s workspace)" loop "loop: by name"
	isnt "$(loops)" "" "loop: there is a device"
	is "$(boxctl exec s -c 'ls -A; stat -c "%u %g %a" .')" "0 0 755" "loop: it is empty, and root's inside"
	like "$(boxctl exec s -c 'grep " /workspace " /proc/mounts')" 'ext4 .*nosuid,nodev' "loop: nothing gains rights there"
	hit s 67108864
	few_files s
	boxctl create --name t --workspace-size 64 >/dev/null
	is "$(ls "$D/state/templates" | wc -l)" 1 "loop: one template for two of a size"
	is "$(boxctl exec t -c 'ls -A | wc -l')" 0 "loop: nothing of the first in the second"
	is "$(find "$D/state/sessions" -name '*.img')" "" "loop: the image has no name that a crash could leave"
	: >"$D/state/templates/$(ls "$D/state/templates")" # as after a power cut
	boxctl create --name u --workspace-size 64 >/dev/null
	ok "loop: a broken template is not used"
	boxctl exec t -c 'exec 9>held; sleep 98765 >/dev/null 2>&1 &'
	boxctl rm s t u >/dev/null
	eventually no_loops
	ok "loop: the devices go with the sessions"
	truncate -s 80M "$D/garbage"
	cp "$D/garbage" "$D/state/templates/$(ls "$D/state/templates")"
	boxctl create --name s --workspace-size 64 2>"$D/err" >/dev/null ||
		boxctl create --name s --workspace-size 64 >/dev/null
	ok "loop: a template of garbage is not used twice"
	boxctl rm s >/dev/null
	i=0
	while [ $i -lt 20 ]; do
		boxctl create --name "n$i" --workspace-size $((i + 8)) >/dev/null && boxctl rm "n$i" >/dev/null
		i=$((i + 1))
	done
	ok "loop: many sizes have few templates" [ "$(ls "$D/state/templates" | wc -l)" -le 16 ]
	eventually no_loops
else
	skip 1 "loop: no /dev/loop-control or no mkfs.ext4 here"
fi

# ---- auto ----
anew 'workspace_backend = auto'
boxctl create --name small --workspace-size 64 --memory 256 >/dev/null
is "$(disk small workspace)" tmpfs "auto: a small one is in memory"
boxctl create --name large --workspace-size 65 --memory 256 >/dev/null
isnt "$(disk large quota)" "" "auto: a large one is $(disk large workspace)"
like "$(disk large workspace)" "$([ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null && echo 'loop|btrfs' || echo tmpfs)" \
	"auto: on a disk where that can be"
if [ "$(disk large workspace)" != tmpfs ]; then
	is "$(boxctl exec large -c 'head -c 60000000 /dev/urandom >f; cat f >/dev/null; exec perl -e "my \$x = q(a) x (100 << 20); print length \$x"')" \
		104857600 "auto: what is on a disk does not take a program's memory"
fi
boxctl rm small large >/dev/null

# ---- a machine that cannot ----
hide='mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && exec "$@"'
without_dev() { # boxd in a mount namespace of its own, without loop devices
	boxd_stop
	sed -i '/^workspace_backend/d' "$D/boxd.conf"
	boxd_config "$1"
	"$BUILD/boxd" --check-config -c "$D/boxd.conf" >/dev/null
	unshare -m sh -c "$hide" sh "$BUILD/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/boxd.conf" </dev/null >>"$D/log" 2>&1 &
	BOXD_PID=$!
	eventually _ready_or_dead
}
without_dev 'workspace_backend = loop'
boxctl create --name s --workspace-size 64 2>"$D/err"
isnt $? 0 "by name and impossible: refused"
like "$(cat "$D/err")" 'workspace_backend = loop: .*/dev/loop-control: No such file' "with the reason"
without_dev 'workspace_backend = auto'
boxctl create --name s --workspace-size 512 --memory 256 >/dev/null
is "$(disk s workspace)" tmpfs "auto and impossible: memory"
like "$(boxctl inspect s)" 'loop: no loop devices: /dev/loop-control' "with the reason"
boxctl rm s >/dev/null

anew 'workspace_backend = btrfs'
boxctl create --name s 2>"$D/err"
like "$(cat "$D/err")" 'workspace_backend = btrfs: the state directory is not on btrfs' "btrfs where there is none: refused with the reason"
boxd_stop

# ---- btrfs ----
if command -v mkfs.btrfs >/dev/null && grep -qw btrfs /proc/filesystems && [ -e /dev/loop-control ]; then
	truncate -s 600M "$D/pool"
	mkfs.btrfs -q "$D/pool" >/dev/null 2>&1
	rm -rf "$D/state"
	mkdir "$D/state"
	mount -o loop "$D/pool" "$D/state"
	anew 'workspace_backend = btrfs'
	boxctl create --name s 2>"$D/err"
	like "$(cat "$D/err")" 'quotas are off on this btrfs' "btrfs: without quotas it is refused"
	btrfs quota enable "$D/state"
	boxctl create --name s --workspace-size 64 >/dev/null
	is "$(disk s workspace)" btrfs "btrfs: by name"
	is "$(disk s hard_inodes)" false "btrfs: files are not counted, and that is told"
	hit s 67108864
	like "$(boxctl exec s -- perl -e 'open(D, "<", "."); my $a = pack("q a4088", 0, "sub"); print ioctl(D, 0x5000940e, $a) ? "made" : $!' 2>&1)" \
		'not permitted' "btrfs: no subvolume can be made inside, which would have no limit"
	is "$(btrfs subvolume list "$D/state" | wc -l)" 1 "btrfs: one subvolume"
	boxctl rm s >/dev/null
	is "$(btrfs subvolume list "$D/state" | wc -l)" 0 "btrfs: it goes with the session"
	boxd_stop
	umount "$D/state"
else
	skip 1 "btrfs: no mkfs.btrfs, no btrfs or no loop devices here"
fi
done_testing
