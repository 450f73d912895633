#!/bin/sh
# A file left in a mounted host directory belongs to that directory's owner: so no call, in no ABI, makes one setuid or setgid.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 60 >/dev/null
command -v cc >/dev/null || plan skip_all "no compiler"

# Every call that takes a mode, with each of the two bits: by its number, so that libc cannot help.
cat >"$D/probe.c" <<'EOF'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AT AT_FDCWD

static void
tell(const char *call, mode_t mode, long r, const char *path, int fd)
{
	struct stat st = { 0 };
	int         e = errno;

	if ((fd >= 0 ? fstat(fd, &st) : lstat(path, &st)) == 0 && (st.st_mode & 06000))
		printf("MADE %s %o: %o\n", call, mode, st.st_mode);
	printf("%s %o %s\n", call, mode, r < 0 ? strerrorname_np(e) : "OK");
	unlink(path);
	rmdir(path);
}

#define TRY(name, path, call) (errno = 0, tell(name, mode, (call), path, -1))

int
main(void)
{
	static const mode_t modes[] = { 04755, 02755, 06777, 04000, 02000 };

	umask(0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		mode_t mode = modes[i];
		struct { unsigned long flags, mode, resolve; } how = { O_CREAT | O_WRONLY, mode, 0 };
		int fd = open("own", O_CREAT | O_RDWR, 0755);
#ifdef SYS_chmod
		TRY("chmod", "own", syscall(SYS_chmod, "own", mode));
		TRY("open", "a", syscall(SYS_open, "a", O_CREAT | O_WRONLY, mode));
		TRY("creat", "a", syscall(SYS_creat, "a", mode));
		TRY("mknod", "a", syscall(SYS_mknod, "a", S_IFREG | mode, 0));
		TRY("mknod-fifo", "a", syscall(SYS_mknod, "a", S_IFIFO | mode, 0));
		TRY("mkdir", "a", syscall(SYS_mkdir, "a", mode));
#endif
		errno = 0;
		tell("fchmod", mode, syscall(SYS_fchmod, fd, mode), "none", fd);
		close(open("own", O_CREAT | O_RDWR, 0755));
		TRY("fchmodat", "own", syscall(SYS_fchmodat, AT, "own", mode));
		close(open("own", O_CREAT | O_RDWR, 0755));
		TRY("fchmodat2", "own", syscall(452, AT, "own", mode, 0));
		TRY("fchmodat2-empty", "own", syscall(452, fd, "", mode, AT_EMPTY_PATH));
		TRY("openat", "a", syscall(SYS_openat, AT, "a", O_CREAT | O_WRONLY, mode));
		TRY("openat-high", "a", syscall(SYS_openat, AT, "a", O_CREAT | O_WRONLY | 1L << 40, mode | 1L << 40));
		errno = 0;
		int tmp = (int)syscall(SYS_openat, AT, ".", O_TMPFILE | O_RDWR, mode);
		tell("openat-tmpfile", mode, tmp, "none", tmp);
		TRY("openat2", "a", syscall(437, AT, "a", &how, sizeof(how)));
		TRY("mknodat", "a", syscall(SYS_mknodat, AT, "a", S_IFREG | mode, 0));
		TRY("mkdirat", "a", syscall(SYS_mkdirat, AT, "a", mode));
		mkdir("d", 0755);
		TRY("chmod-dir", "d", syscall(SYS_fchmodat, AT, "d", mode));
		close(fd);
	}
	return 0;
}
EOF
cc -O1 -o "$D/probe" "$D/probe.c" 2>"$D/cc.err" || { diag "$(cat "$D/cc.err")"; plan skip_all "the probe does not compile"; }
in_box -i -c 'cat >/tmp/probe; chmod 755 /tmp/probe' <"$D/probe"
host=$(cd "$D" && mkdir h && cd h && ../probe)
like "$host" '^MADE openat ' "on the host the probe makes such files"
for dir in /workspace /tmp /home /dev/shm; do
	got=$(in_box -w $dir -- /tmp/probe)
	like "$got" '^fchmodat2 4755 ' "$dir: the probe ran"
	unlike "$got" '^MADE' "$dir: it made none"
done
printf '%s\n' "$got" | grep -v mkdir | while read -r call mode result; do
	case $result in EPERM|ENOSYS) ;; *) echo "$call $mode $result" ;; esac
done >"$D/through"
is "$(cat "$D/through")" "" "each call was refused, and not only without effect"
is "$(printf '%s\n' "$got" | grep -c '^mkdirat.* OK$')" 5 "but mkdir, from which the kernel itself takes the bits"
like "$got" '^openat2 [0-7]+ ENOSYS$' "openat2, whose mode a filter cannot see, is not there"
is "$(in_box -w /tmp -c 'mkdir -m 1777 sticky && chmod 1755 sticky && stat -c %a sticky')" 1755 "the sticky bit is allowed"
is "$(in_box -w /tmp -- perl -e 'require "sys/syscall.ph"; my $p = "/etc/passwd"; print syscall(SYS_openat(), -100, $p, 0, 06755) >= 0 ? "opened" : "$!"')" opened \
	"a mode beside a plain open means nothing"

# the tools that meet it
in_box -w /tmp -c 'umask 022; mkdir src && echo x >src/f && chmod 755 src/f' >/dev/null
(cd "$D" && mkdir tree && echo y >tree/plain && cp /bin/true tree/suid && chmod 4755 tree/suid && tar cf tree.tar tree)
got=$(in_box -w /tmp -i -c 'tar xf - 2>said; echo "code $?"; cat said; ls tree; stat -c %a tree/suid' <"$D/tree.tar")
like "$got" '^code 2$' "tar says that it could not set the bit"
like "$got" '^plain$' "and has unpacked the rest"
like "$got" '^(0|600|700|711|755)$' "and the file, without it"
like "$(in_box -w /tmp -c 'cp -p /usr/bin/su . 2>/dev/null; stat -c %a su')" '^(0|600|700|755)$' "cp -p of a setuid program does not keep it"
like "$(in_box -w /tmp -c 'install -m 4755 /bin/true inst; stat -c %a inst')" 'not permitted' "install -m 4755 is refused"
done_testing
