#!/bin/sh
# Programs of the host with a setuid bit or file capabilities give a command nothing, and it can make no such files.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null

# Every mount that can be written is nosuid and nodev; devpts makes only terminals, /dev is read-only.
mounts=$(in_box -- cat /proc/self/mounts)
like "$mounts" ' /workspace ' "the mounts can be read"
is "$(printf '%s\n' "$mounts" | awk '{ o = "," $4 "," } o !~ /,nosuid,/ { print $2 }')" "" "every mount is nosuid"
is "$(printf '%s\n' "$mounts" | awk '{ o = "," $4 "," } o !~ /,ro,/ && o !~ /,nodev,/ && $3 != "devpts" { print $2 }' | grep -v '^/dev/[a-z]*$')" "" \
	"every writable mount is nodev"
is "$(printf '%s\n' "$mounts" | awk '{ o = "," $4 "," } o !~ /,ro,/ && $3 != "devpts" && $3 != "proc" && $3 != "tmpfs" && $2 != "/workspace" { print $2 }' | grep -v '^/dev/[a-z]*$')" "" \
	"what is not the sandbox's own is read-only"
is "$(printf '%s\n' "$mounts" | awk '{ o = "," $4 "," } $2 == "/proc" && o !~ /,noexec,/ { print }')" "" "/proc is noexec"

for mode in c b; do
	for at in /tmp /home /workspace /dev/shm /dev /dev/pts; do
		like "$(in_box -c "mknod $at/d $mode 1 3 && cat $at/d")" 'not permitted|denied|Read-only' "no $mode device in $at"
	done
done
is "$(in_box -c 'mkfifo /tmp/f && echo made')" made "though a pipe can be made"
like "$(in_box -- perl -e 'for my $d ("mem", "kmem", "port", "kvm", "fuse", "net/tun", "vda", "sda", "loop-control", "mapper/control", "console", "kmsg", "userfaultfd", "vsock", "vhost-net", "uinput", "hpet", "rtc0") { print "$d " if -e "/dev/$d" } print "."')" \
	'^\.$' "no device that leads anywhere is there"

# a program of its own; that it cannot have a setuid bit is t/attack/no-setuid-file-can-be-made.t
in_box -c 'cp /usr/bin/id /tmp/id'
like "$(in_box -c 'command -v setcap >/dev/null || { echo not permitted; exit; }; setcap cap_net_raw+ep /tmp/id')" 'not permitted|denied|Unable' "but no capabilities"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; my $v = pack("VVVVV", 0x02000001, 1 << 13, 0, 0, 0); my ($f, $n) = ("/tmp/id", "security.capability"); print syscall(SYS_setxattr(), $f, $n, $v, 20, 0) == -1 ? "$!" : "set"')" \
	'not permitted|not supported' "not by the raw attribute either"

# the host's
found=0
for p in su mount umount passwd newgrp chsh gpasswd sudo pkexec ping fusermount3; do
	path=$(command -v $p 2>/dev/null) && [ -u "$path" ] || continue
	found=$((found + 1))
	got=$(in_box -e "P=$path" -c 'cp /usr/bin/perl /tmp/p 2>/dev/null; "$P" --help >/dev/null 2>&1; perl -e '\''
		my $pid = fork; if ($pid == 0) { open STDIN, "<", "/dev/null"; exec $ENV{P}, "--version" } waitpid $pid, 0'\'' >/dev/null 2>&1
		grep -h ^Cap /proc/self/status | grep -vc 0000000000000000')
	is "$got" 0 "$p runs and leaves no capability"
done
[ $found -gt 0 ] || skip 1 "no setuid program on this host"
like "$(in_box -c 'echo | su nobody -c "grep -h ^CapEff /proc/self/status"; su -c id nobody </dev/null')" 'cannot|denied|failure|failed|not permitted|must be|not exist|rror' "su becomes nobody else"
for call in 'setuid 1' 'setgid 1' 'setgroups 0' 'setresuid 1'; do
	set -- $call
	like "$(in_box -- perl -e 'require "sys/syscall.ph"; my ($n, $v) = @ARGV; my $g = pack("i", 5); my $r = $n eq "setgroups" ? syscall(SYS_setgroups(), 1, $g) : $n eq "setresuid" ? syscall(SYS_setresuid(), 1, 1, 1) : syscall(&{"SYS_$n"}(), 0 + $v); print $r == -1 ? "$!" : "done"' "$1" "$2")" \
		'not permitted|Invalid' "refused: $1"
done
like "$(in_box -- perl -e 'require "sys/syscall.ph"; my $h = pack("Vi", 0x20080522, 0); my $d = pack("V6", 0xffffffff, 0xffffffff, 0, 0, 0, 0); print syscall(SYS_capset(), $h, $d) == -1 ? "$!" : "done"')" 'not permitted' "refused: capset"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_prctl(), 47, 2, 13, 0, 0) == -1 ? "$!" : "done"')" 'not permitted' "refused: an ambient capability"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; syscall(SYS_prctl(), 38, 0, 0, 0, 0); print syscall(SYS_prctl(), 39, 0, 0, 0, 0)')" '^1$' "no_new_privs stays"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_prctl(), 28, 0, 0, 0, 0) == -1 ? "$!" : "done"')" 'not permitted' "securebits stay"
done_testing
