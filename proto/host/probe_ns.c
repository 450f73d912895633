/* Probes: user namespaces, the others around a sandbox, and mounts inside them. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/probe_parts.h"

enum {
	RANGE = 65536,        /* uids of one session */
	RANGE_BASE = 1 << 20, /* away from the uids of people and services */
};

/* Around every sandbox, beside its user namespace. */
static const struct {
	int         flag;
	const char *kind;
} namespaces[] = {
	{ CLONE_NEWPID, "pid" },
	{ CLONE_NEWNS, "mnt" },
	{ CLONE_NEWNET, "net" },
	{ CLONE_NEWIPC, "ipc" },
	{ CLONE_NEWUTS, "uts" },
	{ CLONE_NEWCGROUP, "cgroup" },
};

enum { NAMESPACES = sizeof(namespaces) / sizeof(*namespaces) };

/* ---- user namespaces ---- */

/* A number from a file of /proc; -1 when it is not there. */
static long
read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long  n = -1;

	if (f == NULL)
		return -1;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

/* In a chroot no mount stands at "/", and the kernel refuses user namespaces. */
static bool
is_chrooted(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char  line[8192], point[4096];
	bool  has_root = false;

	if (f == NULL)
		return false;
	while (!has_root && fgets(line, sizeof(line), f) != NULL)
		has_root = sscanf(line, "%*s %*s %*s %*s %4095s", point) == 1 && strcmp(point, "/") == 0;
	fclose(f);
	return !has_root;
}

/* Who we were before a namespace made us somebody else; set when a probe's child begins. */
static bool was_root;

void
probe_ns_begin(void)
{
	was_root = geteuid() == 0;
}

/* Why a step into a user namespace failed with this errno. */
static void
userns_barrier(struct probe *p, const char *step, int err)
{
	long most = read_number("/proc/sys/user/max_user_namespaces");

	if (access("/proc/self/ns/user", F_OK) == -1 && errno == ENOENT)
		probe_misses(p, "use a kernel with CONFIG_USER_NS", "the kernel has no user namespaces");
	else if (most == 0)
		probe_misses(p, "sysctl user.max_user_namespaces=15000", "user.max_user_namespaces is 0");
	else if (err == ENOSPC)
		probe_misses(p, "sysctl user.max_user_namespaces=<more>",
		    "%s: a limit of user namespaces is reached (user.max_user_namespaces is %ld)", step, most);
	else if (!was_root && read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		probe_misses(p, "sysctl kernel.unprivileged_userns_clone=1, or run boxd as root",
		    "kernel.unprivileged_userns_clone is 0");
	else if (!was_root && read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		probe_misses(p,
		    "an AppArmor profile for boxd with 'userns,'; or "
		    "sysctl kernel.apparmor_restrict_unprivileged_userns=0; or run boxd as root",
		    "%s: %s: AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)",
		    step, strerror(err));
	else if (err == EPERM && is_chrooted())
		probe_misses(
		    p, "start boxd outside the chroot", "%s: the kernel refuses user namespaces inside a chroot", step);
	else if (err == EPERM && strncmp(step, "mount proc", 10) == 0)
		probe_misses(p, "start the container with --security-opt systempaths=unconfined, or boxd outside it",
		    "%s: %s: parts of our own /proc are covered, as containers do it", step, strerror(err));
	else if ((err == EPERM || err == ENOSYS) && probe_file_has_line("/proc/self/status", "Seccomp:\t2"))
		probe_misses(p,
		    "start the container with --security-opt seccomp=unconfined, "
		    "or a profile that allows unshare, clone and mount",
		    "%s: %s: a seccomp filter is on us, as containers have it", step, strerror(err));
	else if (err == EACCES)
		probe_misses(p, "allow user_namespace create in the policy",
		    "%s: a security module (SELinux, AppArmor) refuses", step);
	else
		probe_misses(p, "", "%s: %s", step, strerror(err));
}

static void
namespace_barrier(struct probe *p, const char *kind, int err)
{
	char remedy[96] = "";

	if (err == ENOSPC)
		snprintf(remedy, sizeof(remedy), "sysctl user.max_%s_namespaces=<more>", kind);
	else if (err == EINVAL)
		snprintf(remedy, sizeof(remedy), "use a kernel with %s namespaces", kind);
	if (err == ENOSPC)
		probe_misses(p, remedy, "the limit user.max_%s_namespaces is reached", kind);
	else
		probe_misses(p, remedy, "unshare of the %s namespace: %s", kind, strerror(err));
}

/* One after the other, so that a refusal has a name. */
static int
enter_namespaces(struct probe *p, int flags)
{
	for (int i = 0; i < NAMESPACES; i++) {
		if (!(flags & namespaces[i].flag) || unshare(namespaces[i].flag) == 0)
			continue;
		namespace_barrier(p, namespaces[i].kind, errno);
		return -1;
	}
	return 0;
}

/* A user namespace around us with our own uid as root in it, and others; p names the barrier. */
int
probe_enter(struct probe *p, int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char  map[64];

	if (unshare(CLONE_NEWUSER) == -1) {
		userns_barrier(p, "unshare", errno);
		return -1;
	}
	snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
	if (probe_write_file("/proc/self/uid_map", map) == -1) {
		userns_barrier(p, "write uid_map", errno);
		return -1;
	}
	snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
	if (probe_write_file("/proc/self/setgroups", "deny") == -1 ||
	    probe_write_file("/proc/self/gid_map", map) == -1) {
		userns_barrier(p, "write gid_map", errno);
		return -1;
	}
	return enter_namespaces(p, flags);
}

void
try_userns(struct probe *p, NO_ARG)
{
	if (probe_enter(p, 0) == 0)
		probe_fine(p);
}

void
try_namespace(struct probe *p, int flag)
{
	if (probe_enter(p, flag) == 0)
		probe_fine(p);
}

/* A child in a user namespace of its own, asleep until our end of the pipe closes. */
struct held {
	pid_t pid;
	int   release; /* owned */
};

static void
let_go(struct held *h)
{
	fd_close(&h->release);
	probe_reap(h->pid);
}

static int
hold_userns(struct probe *p, struct held *h)
{
	int  up[2], down[2];
	char byte;

	if (pipe2(up, O_CLOEXEC) == -1 || pipe2(down, O_CLOEXEC) == -1 || (h->pid = probe_fork()) == -1) {
		probe_misses(p, "", "fork: %s", strerror(errno));
		return -1;
	}
	if (h->pid == 0) {
		close(down[1]); /* else we would hold ourselves */
		if (unshare(CLONE_NEWUSER) == -1)
			userns_barrier(p, "unshare", errno);
		else if (write(up[1], "", 1) == 1)
			(void)!read(down[0], &byte, 1);
		_exit(0);
	}
	close(up[1]);
	close(down[0]);
	h->release = down[1];
	bool ready = read(up[0], &byte, 1) == 1;
	close(up[0]);
	if (!ready)
		let_go(h);
	return ready ? 0 : -1;
}

static int
map_range(pid_t pid)
{
	char path[64], map[64];

	snprintf(map, sizeof(map), "0 %d %d", RANGE_BASE, RANGE);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (probe_write_file(path, map) == -1)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	return probe_write_file(path, map);
}

/* "name:first:count" or "uid:first:count" of /etc/subuid. */
static bool
find_subuid(const char *path, const char *user, unsigned *first, unsigned *count)
{
	FILE *f = fopen(path, "re");
	char  line[256], name[128], uid[16];
	bool  has = false;

	if (f == NULL)
		return false;
	snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
	while (!has && fgets(line, sizeof(line), f) != NULL)
		has = sscanf(line, "%127[^:]:%u:%u", name, first, count) == 3 && *count >= RANGE &&
		      (strcmp(name, user) == 0 || strcmp(name, uid) == 0);
	fclose(f);
	return has;
}

static void
try_newuidmap(struct probe *p, pid_t target)
{
	struct passwd *pw = getpwuid(geteuid());
	const char    *user = pw != NULL ? pw->pw_name : "?";
	unsigned       first = 0, count = 0;
	char           pid[16], from[16], n[16];

	if (!find_subuid("/etc/subuid", user, &first, &count)) {
		probe_misses(
		    p, "run boxd as root", "single uid: no line with %d uids for %s in /etc/subuid", RANGE, user);
		return;
	}
	snprintf(pid, sizeof(pid), "%d", target);
	snprintf(from, sizeof(from), "%u", first);
	snprintf(n, sizeof(n), "%d", RANGE);
	pid_t child = probe_fork();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDERR_FILENO);
		execlp("newuidmap", "newuidmap", pid, "0", from, n, (char *)NULL);
		_exit(127);
	}
	int status = probe_reap(child);
	if (status == 0)
		probe_works(p, "%u uids from %u, by newuidmap", count, first);
	else
		probe_misses(p, "install newuidmap (package uidmap), or run boxd as root", "single uid: newuidmap %s",
		    WEXITSTATUS(status) == 127 ? "is not installed" : "refused");
}

void
try_uid_range(struct probe *p, NO_ARG)
{
	struct held h;

	if (hold_userns(p, &h) == -1)
		return;
	if (geteuid() != 0)
		try_newuidmap(p, h.pid);
	else if (map_range(h.pid) == 0)
		probe_works(p, "%d uids for each session", RANGE);
	else
		probe_misses(p, "run boxd where root has the whole range of uids", "single uid: uid_map: %s%s",
		    strerror(errno), errno == EPERM ? " (see /proc/self/uid_map: we are in a user namespace)" : "");
	let_go(&h);
}

/* ---- mounts inside ---- */

static int
mount_inside(struct probe *p, const char *type, const char *where, const char *data)
{
	char step[64];

	if (mount(type, where, type, MS_NOSUID | MS_NODEV, data) == 0)
		return 0;
	snprintf(step, sizeof(step), "mount %s in a user namespace", type);
	if (errno == ENODEV)
		probe_misses(p, "modprobe it, or use a kernel that has it", "%s: the kernel has no %s", step, type);
	else
		userns_barrier(p, step, errno);
	return -1;
}

/* A place of our own to mount on: a tmpfs over /tmp that only we see. */
static int
enter_scratch(struct probe *p, int flags)
{
	if (probe_enter(p, CLONE_NEWNS | flags) == -1)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) {
		userns_barrier(p, "make mounts private", errno);
		return -1;
	}
	return mount_inside(p, "tmpfs", "/tmp", "size=1m");
}

void
try_tmpfs(struct probe *p, NO_ARG)
{
	if (enter_scratch(p, 0) == 0)
		probe_fine(p);
}

/* proc shows the pid namespace of who mounts it, so that one must be inside. */
static void
mount_proc_inside(struct probe *p, int flags)
{
	if (enter_scratch(p, flags | CLONE_NEWPID) == -1)
		return;
	pid_t pid = probe_fork();
	if (pid == 0) {
		if (mount_inside(p, "proc", "/proc", NULL) == 0)
			probe_fine(p);
		_exit(0);
	}
	if (pid == -1)
		probe_misses(p, "", "fork in a pid namespace: %s", strerror(errno));
	else
		probe_reap(pid);
}

void
try_proc(struct probe *p, NO_ARG)
{
	mount_proc_inside(p, 0);
}

void
try_sandbox(struct probe *p, NO_ARG)
{
	int all = 0;

	for (int i = 0; i < NAMESPACES; i++)
		all |= namespaces[i].flag;
	mount_proc_inside(p, all);
}

void
try_pivot_root(struct probe *p, NO_ARG)
{
	if (enter_scratch(p, 0) == -1)
		return;
	if (chdir("/tmp") == -1 || syscall(SYS_pivot_root, ".", ".") == -1 || umount2(".", MNT_DETACH) == -1)
		probe_misses(p, errno == EINVAL ? "start boxd from a real root file system, not the initramfs" : "",
		    "pivot_root: %s", strerror(errno));
	else
		probe_fine(p);
}

void
try_overlay(struct probe *p, NO_ARG)
{
	static const char *const dirs[] = { "/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged" };

	if (enter_scratch(p, 0) == -1)
		return;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		mkdir(dirs[i], 0700);
	if (mount_inside(p, "overlay", "/tmp/merged",
		"userxattr,lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work") == -1)
		return;
	if (mkdir("/tmp/merged/made", 0700) == -1)
		probe_misses(p, "", "overlay mounts, but a write in it fails: %s", strerror(errno));
	else
		probe_fine(p);
}

void
try_idmap(struct probe *p, NO_ARG)
{
	struct { /* struct mount_attr; its header does not go with sys/mount.h everywhere */
		uint64_t set, clear, propagation, userns_fd;
	} attr = { .set = 0x00100000 /* MOUNT_ATTR_IDMAP */ };
	struct held h;
	char        path[64];

	AUTO_FD int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
	if (tree == -1) {
		probe_misses(p, errno == EPERM ? "run boxd as root" : "",
		    errno == EPERM ? "needs root" : "open_tree: %s", strerror(errno));
		return;
	}
	if (hold_userns(p, &h) == -1)
		return;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", h.pid);
	AUTO_FD int ns = map_range(h.pid) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	attr.userns_fd = (uint64_t)ns;
	if (ns == -1)
		probe_misses(p, "", "a user namespace with a range of uids: %s", strerror(errno));
	else if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		probe_works(p, "on the file system of /");
	else if (errno == EINVAL)
		probe_misses(p, "keep the state directory on ext4, xfs, btrfs or tmpfs",
		    "the file system of / has no id-mapped mounts");
	else
		probe_refused(p, "mount_setattr", "Linux 5.12");
	let_go(&h);
}
