#!/bin/sh
# What is not meant to be written cannot be written even when its mount would allow it: landlock stands behind the mounts.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "only root can change the mounts of a sandbox, which is what this test does to it"
perl -e 'exit(syscall(444, 0, 0, 1) < 2)' || plan skip_all "this kernel has no landlock, or its first version"
command -v nsenter >/dev/null || plan skip_all "no nsenter here"
from_outside() { nsenter -t "$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')" --mount "$@"; }

for landlock in no yes; do
	boxd_config "landlock = $landlock"
	boxd_start
	boxctl create --name s >/dev/null
	case $landlock in no) denied='^done$' word=without ;; yes) denied='denied' word=with ;; esac

	# a mount that should not be there: somebody outside puts it, after init has restricted itself
	from_outside mount -t tmpfs -o mode=777 none /opt
	ok "$word: a writable file system appears on /opt"
	from_outside sh -c 'umask 0; echo old >/opt/old; mkdir -m 777 /opt/sub'
	for try in 'echo x >/opt/new' 'echo x >>/opt/old' 'mkdir /opt/dir' 'ln -s x /opt/link' 'mkfifo /opt/fifo' 'rm /opt/old' 'rmdir /opt/sub' \
		'mv /opt/old /opt/moved' 'perl -e "truncate(q(/opt/old), 0) or die qq(\$!)"' \
		'perl -MSocket -e "socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, pack_sockaddr_un(q(/opt/sock))) or die qq(\$!)"'; do
		from_outside sh -c 'rm -rf /opt/*; umask 0; echo old >/opt/old; mkdir -m 777 /opt/sub'
		like "$(in_box -c "$try && echo done")" "$denied" "$word landlock: $try"
	done
	from_outside sh -c 'rm -rf /opt/*; umask 0; echo old >/opt/old'
	is "$(in_box -- cat /opt/old)" old "$word: reading is not its business"
	from_outside umount /opt

	like "$(in_box -c 'echo named >/proc/self/comm')" 'Read-only|denied' "$word: nothing in /proc is written"
	from_outside mount -o remount,bind,rw /proc
	ok "$word: /proc loses its read-only mount"
	in_box -c 'echo named >/proc/self/comm' >"$D/comm"
	case $landlock in
	no) is "$(cat "$D/comm")" "" "without: a command then writes to its own files there" ;;
	yes) like "$(cat "$D/comm")" denied "with: it still does not" ;;
	esac

	# what must work is not in its way
	is "$(in_box -c 'for d in /tmp /home /workspace /dev/shm; do mkdir -p $d/a/b && echo x >$d/a/b/f && mv $d/a/b/f $d/a/g && ln $d/a/g $d/a/b/h && rm -r $d/a || echo $d; done')" "" \
		"$word: files are made, moved between directories, linked and removed in all writable places"
	is "$(in_box -c 'exec 2>&1; echo x >/dev/null; echo x >/dev/stderr; head -c 1 /dev/zero | wc -c')" "x
1" "$word: devices work"
	is "$(in_box -c 'script -qec "stty size >/dev/null && echo tty" /dev/null' | tr -d '\r')" tty "$word: terminals work"
	is "$(in_box -w /tmp -- perl -e 'require "sys/syscall.ph"; use Fcntl;
		my ($q, $n) = (pack("q4x32", 0, 4, 64, 0), "q"); print "queue: $!\n" if syscall(SYS_mq_open(), $n, O_CREAT | O_RDWR, 0600, $q) < 0; syscall(SYS_mq_unlink(), $n);
		my $m = "m"; my $fd = syscall(SYS_memfd_create(), $m, 0); sysopen(my $f, "/proc/self/fd/$fd", O_RDWR) or print "memfd: $!\n";
		sysopen(my $t, ".", 020200000 | O_RDWR) or print "nameless: $!\n"; my ($from, $to) = ("/proc/self/fd/" . fileno($t), "/tmp/named");
		syscall(SYS_linkat(), -100, $from, -100, $to, 0x400) == 0 or print "given a name: $!\n";
		open(my $u, "+>", "gone"); unlink "gone"; sysopen(my $v, "/proc/self/fd/" . fileno($u), O_RDWR) or print "unlinked: $!\n";
		print "shm: $!\n" if syscall(SYS_shmget(), 0, 4096, 01600) < 0; syscall(SYS_mknodat(), -100, my $p = "/tmp/fifo", 010600, 0) == 0 or print "fifo: $!\n"; sysopen(my $w, "/tmp/fifo", O_RDWR) or print "fifo: $!\n"')" "" \
		"$word: message queues, memfds, files without a name, shared memory and pipes work"
	like "$(in_box -c 'sleep 60 >/dev/null 2>&1 & echo $! >/tmp/pid' ; in_box -c 'kill $(cat /tmp/pid) && echo killed')" killed "$word: a later command signals an earlier one's process"
	box exec s -t 0.3 -- sleep 98765 2>/dev/null
	is $? 124 "$word: a timeout still kills"
	boxd_stop
done
done_testing
