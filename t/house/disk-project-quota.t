#!/bin/sh
# workspace_quota_mb on ext4 and XFS that have project quotas: the kernel refuses, and only then is it said to.
# In a kernel of its own, as many are built without them.
. t/lib/sh/uml.sh
[ "$1" = inside ] || uml_test "$0"

. t/lib/sh/boxd.sh
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

# project DIRECTORY [NUMBER]: the number; limit DIRECTORY [BYTES FILES]: the hard limits of its project
project() {
	perl -e 'my ($dir, $new) = @ARGV; open(my $f, "<", $dir) or die "$dir: $!"; my $x = "\0" x 28;
		ioctl($f, 0x801c581f, $x) or die $!;
		if (defined $new) { substr($x, 12, 4) = pack("L", $new); substr($x, 0, 4) |= pack("L", 0x200); ioctl($f, 0x401c5820, $x) or die $! }
		print unpack("x12 L", $x), "\n"' "$@"
}
limit() {
	perl -e 'my ($dir, $project, $bytes, $files) = @ARGV; open(my $f, "<", $dir) or die "$dir: $!"; my $q = "\0" x 72;
		if (defined $bytes) { $q = pack("Q8L2", $bytes / 1024, 0, 0, $files, 0, 0, 0, 0, 5, 0); syscall(443, fileno($f), 0x80000802, $project + 0, $q) == 0 or die "set: $!" }
		syscall(443, fileno($f), 0x80000702, $project + 0, $q) == 0 or die "get: $!";
		my @q = unpack("Q8", $q); print $q[0] * 1024, " $q[3]\n"' "$1" "$(project "$1")" $2 $3
}
operator_stays() { # file system, directory on it
	mkdir -p "$2/op/sub" "$2/op2" "$2/tree/deep/op" "$2/ours/sub"
	project "$2/op" 42 >/dev/null
	project "$2/op2" 42 >/dev/null
	limit "$2/op" 4194304 100 >/dev/null
	boxctl create --name s --host-path "$2/op" --workspace-quota 64 >/dev/null
	like "$(disk s quota)" 'watcher.*project id 42' "$1: a directory with an operator's project is watched"
	is "$(limit "$2/op")" "4194304 100" "$1: the operator's limit is not raised"
	like "$(boxctl exec s -c 'head -c 20000000 /dev/zero >f' 2>&1)" 'No space left|quota exceeded' "$1: and holds"
	rm -f "$2/op/f"
	boxctl create --name t --host-path "$2/op2" --workspace-quota 1 >/dev/null
	boxctl exec t -c 'head -c 100000 /dev/zero >f' 2>/dev/null
	is "$(limit "$2/op")" "4194304 100" "$1: nor lowered by way of another directory of that project"
	boxctl rm s t >/dev/null

	project "$2/tree/deep/op" 43 >/dev/null
	limit "$2/tree/deep/op" 1048576 10 >/dev/null
	boxctl create --name s --host-path "$2/tree" --workspace-quota 64 >/dev/null
	like "$(disk s quota)" 'watcher.*project id 43' "$1: a directory above an operator's project is watched"
	is "$(project "$2/tree/deep/op") $(limit "$2/tree/deep/op")" "43 1048576 10" "$1: what is below keeps its project and its limit"
	is "$(project "$2/tree") $(project "$2/tree/deep")" "0 0" "$1: and nothing was changed before that was seen"
	boxctl rm s >/dev/null

	boxctl create --name s --host-path "$2/ours" --workspace-quota 8 >/dev/null
	is "$(limit "$2/ours")" "8388608 300" "$1: boxd sets a limit of its own"
	boxctl create --name t --host-path "$2/ours/sub" --workspace-quota 64 >/dev/null
	is "$(limit "$2/ours")" "8388608 300" "$1: a session below does not change it"
	like "$(disk t quota)" 'watcher.*another directory' "$1: that one is watched"
	boxctl rm s t >/dev/null
	limit "$2/ours" 2097152 50 >/dev/null
	boxctl create --name s --host-path "$2/ours" --workspace-quota 64 >/dev/null
	is "$(limit "$2/ours")" "2097152 50" "$1: an operator's limit on a project of boxd's stays"
	like "$(disk s quota)" 'watcher.*boxd did not set' "$1: and the session is told"
	boxctl rm s >/dev/null
}

truncate -s 100M "$D/ext4"
mkfs.ext4 -q -F -O quota,project -E quotatype=prjquota "$D/ext4"
mount -t tmpfs tmpfs /mnt && mkdir /mnt/e /mnt/x # /run, where the rest is, can not be a workspace
mount -o loop,prjquota "$D/ext4" /mnt/e || plan skip_all "ext4 without project quotas in that kernel"
quota_holds ext4 /mnt/e
operator_stays ext4 /mnt/e
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
	operator_stays XFS /mnt/x
	umount /mnt/x
else
	skip 1 "XFS: no mkfs.xfs, or that kernel cannot mount it"
fi
done_testing
