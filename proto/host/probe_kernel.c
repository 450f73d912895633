/* Probes: single system calls and parts of the kernel, each by one small use of it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/loop.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/nft.h"
#include "host/nftrules.h"
#include "host/probe_parts.h"

enum { ID_PIDFD = 3 }; /* P_PIDFD; an enum, so that the preprocessor cannot ask for it */

void
try_seccomp(struct probe *p, NO_ARG)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | E2BIG),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == -1)
		probe_refused(p, "seccomp", "Linux 3.17");
	else if (syscall(SYS_getppid) == -1 && errno == E2BIG)
		probe_fine(p);
	else
		probe_misses(p, "", "a filter was taken and does nothing");
}

void
try_landlock(struct probe *p, NO_ARG)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE };

	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi == -1) {
		if (errno == EOPNOTSUPP)
			probe_misses(p, "boot with lsm=landlock,...", "in the kernel, but not switched on");
		else
			probe_refused(p, "landlock", "Linux 5.13");
		return;
	}
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (rules == -1 || syscall(SYS_landlock_restrict_self, rules, 0) == -1)
		probe_refused(p, "landlock", "Linux 5.13");
	else if (open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES)
		probe_works(p, "ABI %ld", abi);
	else
		probe_misses(p, "", "ABI %ld, but a forbidden file could be opened", abi);
}

static int
count_loops(void)
{
	DIR           *d = opendir("/sys/block");
	struct dirent *entry;
	int            n = 0;

	while (d != NULL && (entry = readdir(d)) != NULL)
		n += strncmp(entry->d_name, "loop", 4) == 0;
	if (d != NULL)
		closedir(d);
	return n;
}

void
try_loop(struct probe *p, NO_ARG)
{
	AUTO_FD int fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int         before = count_loops();

	if (fd == -1) {
		probe_misses(p, errno == EACCES ? "run boxd as root" : "modprobe loop", "/dev/loop-control: %s",
		    strerror(errno));
		return;
	}
	int n = ioctl(fd, LOOP_CTL_GET_FREE);
	if (n == -1) {
		probe_misses(p, "", "LOOP_CTL_GET_FREE: %s", strerror(errno));
		return;
	}
	char node[32];
	snprintf(node, sizeof(node), "/dev/loop%d", n);
	bool there = access(node, R_OK | W_OK) == 0;
	if (count_loops() > before) /* asking has made it */
		ioctl(fd, LOOP_CTL_REMOVE, n);
	if (!there)
		probe_misses(p, "in a container, give it the host's loop devices", "there is no %s to open", node);
	else
		probe_fine(p);
}

void
try_mkfs(struct probe *p, NO_ARG)
{
	if (access("/usr/sbin/mkfs.ext4", X_OK) == 0 || access("/sbin/mkfs.ext4", X_OK) == 0)
		probe_fine(p);
	else
		probe_misses(p, "install e2fsprogs", "mkfs.ext4 is in neither /usr/sbin nor /sbin");
}

void
try_btrfs(struct probe *p, NO_ARG)
{
	if (probe_file_has_line("/proc/filesystems", "\tbtrfs"))
		probe_fine(p);
	else
		probe_misses(p, "modprobe btrfs", "not in /proc/filesystems");
}

/* The rules of a session with a network, as they are. */
static int
load_rules(bool logged, struct err *e)
{
	const struct strs none = { 0 };
	struct nft_plan   plan = { .mode = NET_MODE_EGRESS, .open = &none, .logged = logged };
	struct buf        rules = { 0 };

	nftrules_write(&rules, &plan);
	int r = rules.failed ? err_set(e, E_SYS, "no memory for the rules of a network") : nft_fill(rules.data, e);
	buf_clear(&rules);
	return r;
}

/* In a namespace of its own.  A session does without the log of what was refused. */
void
try_nftables(struct probe *p, NO_ARG)
{
	struct err e, without;

	if (nft_load(&e) == -1)
		probe_misses(p, "apt-get install libnftables1", "%.200s", e.text);
	else if (probe_enter(p, CLONE_NEWNET) == -1)
		return;
	else if (load_rules(true, &e) == 0)
		probe_fine(p);
	else if (load_rules(false, &without) == 0)
		probe_works(p, "refusals are not counted: %.200s", e.text);
	else
		probe_misses(p, NFT_REMEDY, "%.240s", without.text);
}

void
try_pidfd(struct probe *p, NO_ARG)
{
	siginfo_t info = { 0 };

	pid_t pid = probe_fork();
	if (pid == 0)
		_exit(7);
	AUTO_FD int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd == -1)
		probe_refused(p, "pidfd_open", "Linux 5.3");
	else if (waitid((idtype_t)ID_PIDFD, (id_t)fd, &info, WEXITED) == -1)
		probe_refused(p, "waitid of a pidfd", "Linux 5.4");
	else if (info.si_status == 7)
		probe_fine(p);
	else
		probe_misses(p, "", "waitid of a pidfd told a wrong status");
}

void
try_memfd(struct probe *p, NO_ARG)
{
	AUTO_FD int fd = memfd_create("boxd-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd == -1)
		probe_refused(p, "memfd_create", "Linux 3.17");
	else if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == -1)
		probe_refused(p, "F_ADD_SEALS", "Linux 3.17");
	else if (write(fd, "x", 1) == -1 && errno == EPERM)
		probe_fine(p);
	else
		probe_misses(p, "", "a sealed memfd could be written");
}

void
try_close_range(struct probe *p, NO_ARG)
{
	int fd = dup(STDIN_FILENO);

	if (fd == -1)
		fd = open("/", O_PATH);
	if (syscall(SYS_close_range, (unsigned)fd, ~0U, 0) == -1)
		probe_refused(p, "close_range", "Linux 5.9");
	else if (fcntl(fd, F_GETFD) == -1)
		probe_fine(p);
	else
		probe_misses(p, "", "close_range left a descriptor open");
}

void
try_openat2(struct probe *p, NO_ARG)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };

	if (syscall(SYS_openat2, AT_FDCWD, "/proc/self/status", &how, sizeof(how)) != -1)
		probe_misses(p, "", "RESOLVE_NO_SYMLINKS followed the symbolic link /proc/self");
	else if (errno == ELOOP)
		probe_fine(p);
	else
		probe_refused(p, "openat2", "Linux 5.6");
}
