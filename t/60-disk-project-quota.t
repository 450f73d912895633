#!/bin/sh
# workspace_quota_mb on ext4 and XFS that have project quotas: the kernel refuses, and only then is it said to.
# In a kernel of its own, as many are built without them.
. t/lib/uml.sh
[ "$1" = inside ] || uml_test "$0"

. t/lib/boxd.sh
. t/lib/json.sh
"$BUILD/boxctl" --help >/dev/null 2>&1 || plan skip_all "these programs do not run in user-mode Linux" # sanitizers
command -v mkfs.ext4 >/dev/null || plan skip_all "no mkfs.ext4 here"
modules=/usr/lib/uml/modules/$(uname -r)/kernel
for m in drivers/block/loop fs/quota/quota_tree fs/quota/quota_v2; do # there need not be an insmod
	perl -e 'open(my $f, "<", $ARGV[0]) or die; my $none = ""; exit syscall(313, fileno($f), $none, 0) != 0' "$modules/$m.ko" ||
		plan skip_all "no $m module"
done

boxd_config 'spare_sandboxes = 0' 'workspace_entries = 300'
boxd_start

quota_holds() { # file system, directory on it
	mkdir -p "$2/a/old" "$2/b"
	head -c 3000000 /dev/zero >"$2/a/old/file"
	boxctl create --name s --host-path "$2/a" --workspace-quota 8 >/dev/null
	ok "$1: a session is made"
	is "$(disk s quota)" "a project quota of its file system" "$1: by project quota"
	is "$(disk s hard_bytes) $(disk s hard_inodes)" "true true" "$1: said to be hard"
	like "$(boxctl exec s -c 'head -c 20000000 /dev/zero >f' 2>&1)" 'No space left|quota exceeded' "$1: more bytes are refused"
	got=$(stat -c %s "$2/a/f")
	ok "$1: what was there before counts ($got)" [ "$got" -le $((8388608 - 3000000)) ]
	ok "$1: and the rest could be used" [ "$got" -ge 4000000 ]
	like "$(boxctl exec s -c 'rm f; fallocate -l 20M f' 2>&1)" 'No space left|quota exceeded' "$1: fallocate is refused"
	rm -f "$2/a/f"
	n=$(boxctl exec s -c 'i=0; while true >t$i; do i=$((i+1)); done 2>/dev/null; echo $i')
	ok "$1: more files are refused ($n)" [ "$n" -ge 280 ] 
	ok "$1: at the limit" [ "$n" -le 300 ]
	boxctl exec s -c 'rm -f t*'
	boxctl exec s -- perl -e 'open(my $f, "<", ".") or die; my $x = "\0" x 28; ioctl($f, 0x801c581f, $x) or die; substr($x, 12, 4) = pack("L", 0); exit(ioctl($f, 0x401c5820, $x) ? 1 : 0)'
	ok "$1: the project cannot be left from inside"
	boxctl create --name t --host-path "$2/b" --workspace-quota 8 >/dev/null
	boxctl exec t -c 'head -c 7000000 /dev/zero >f && mkdir -p x/y && head -c 500000 /dev/zero >x/y/z'
	ok "$1: another directory has its own"
	boxctl rm s t >/dev/null
	boxctl create --name s --host-path "$2/a" --workspace-quota 16 >/dev/null
	boxctl exec s -c 'head -c 12000000 /dev/zero >f'
	ok "$1: the next session may have another limit"
	boxctl rm s >/dev/null
}

truncate -s 100M "$D/ext4"
mkfs.ext4 -q -F -O quota,project -E quotatype=prjquota "$D/ext4"
mount -t tmpfs tmpfs /mnt && mkdir /mnt/e /mnt/x # /run, where the rest is, can not be a workspace
mount -o loop,prjquota "$D/ext4" /mnt/e || plan skip_all "ext4 without project quotas in that kernel"
quota_holds ext4 /mnt/e
umount /mnt/e

# the same file system, quotas not switched on: limits could be written down and would be kept by nobody
truncate -s 64M "$D/plain"
mkfs.ext4 -q -F -O project "$D/plain"
mount -o loop "$D/plain" /mnt/e
mkdir /mnt/e/a
boxctl create --name s --host-path /mnt/e/a --workspace-quota 8 >/dev/null
is "$(disk s hard_bytes)" false "ext4 without quotas: not said to be hard"
like "$(disk s quota)" 'watcher' "ext4 without quotas: watched"
boxctl rm s >/dev/null
umount /mnt/e

if command -v mkfs.xfs >/dev/null && truncate -s 320M "$D/xfs" && mkfs.xfs -q "$D/xfs" 2>/dev/null &&
	mount -o loop,pquota "$D/xfs" /mnt/x 2>/dev/null; then
	quota_holds XFS /mnt/x
	umount /mnt/x
else
	skip 1 "XFS: no mkfs.xfs, or that kernel cannot mount it"
fi
done_testing
