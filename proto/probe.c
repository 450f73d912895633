/*
 * Every probe is a function that tries one thing and writes what came of it into
 * a struct probe in memory shared with its parent.  It runs in a forked child:
 * the namespaces, mounts and filters it makes die with it, and SIGALRM ends it if
 * it hangs.  Only cgroup directories could outlive it; their names hold its pid,
 * so that the parent removes them whatever happened.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/loop.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <dirent.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"

enum {
	DEADLINE_SEC = 5,   /* thousands of times what any probe needs */
	RANGE = 65536,      /* uids of one session */
	RANGE_BASE = 1 << 20, /* away from the uids of people and services */
	ID_PIDFD = 3,       /* P_PIDFD; an enum, so that the preprocessor cannot ask for it */
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

/* Rows call all probes alike; most have nothing to be told. */
#define NO_ARG int arg __attribute__((unused))

/* ---- saying what came of it ---- */

static void __attribute__((format(printf, 2, 3)))
works(struct probe *p, const char *fmt, ...)
{
	va_list ap;

	p->state = PROBE_WORKS;
	p->remedy[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
}

/* It works, and there is nothing more to say. */
static void
fine(struct probe *p)
{
	works(p, "%s", "");
}

static void __attribute__((format(printf, 3, 4)))
misses(struct probe *p, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	p->state = PROBE_MISSING;
	snprintf(p->remedy, sizeof(p->remedy), "%s", remedy);
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
}

/* A system call failed: ENOSYS means the kernel is too old for it, or a filter hides it. */
static void
refused(struct probe *p, const char *what, const char *since)
{
	if (errno == ENOSYS)
		misses(p, "use a newer kernel; in a container, allow the call",
		    "%s: not in this kernel (it came with %s)", what, since);
	else
		misses(p, "", "%s: %s", what, strerror(errno));
}

/* ---- small hands ---- */

static int
write_file(const char *path, const char *text)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	return write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

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

static bool
file_has_line(const char *path, const char *needle)
{
	FILE *f = fopen(path, "re");
	char  line[512];
	bool  has = false;

	if (f == NULL)
		return false;
	while (!has && fgets(line, sizeof(line), f) != NULL)
		has = strstr(line, needle) != NULL;
	fclose(f);
	return has;
}

/* A child that goes when its parent goes, even by SIGALRM. */
static pid_t
fork_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	/* getppid is 0 from inside a new pid namespace: no race to see there, and init dies with its prober anyway */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || (getppid() != parent && getppid() != 0))
		_exit(1);
	return 0;
}

static int
reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

/* ---- user namespaces ---- */

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

/* Why a step into a user namespace failed with this errno. */
static void
userns_barrier(struct probe *p, const char *step, int err)
{
	long most = read_number("/proc/sys/user/max_user_namespaces");

	if (access("/proc/self/ns/user", F_OK) == -1 && errno == ENOENT)
		misses(p, "use a kernel with CONFIG_USER_NS", "the kernel has no user namespaces");
	else if (most == 0)
		misses(p, "sysctl user.max_user_namespaces=15000", "user.max_user_namespaces is 0");
	else if (err == ENOSPC)
		misses(p, "sysctl user.max_user_namespaces=<more>",
		    "%s: a limit of user namespaces is reached (user.max_user_namespaces is %ld)", step, most);
	else if (!was_root && read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		misses(p, "sysctl kernel.unprivileged_userns_clone=1, or run boxd as root",
		    "kernel.unprivileged_userns_clone is 0");
	else if (!was_root && read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
		misses(p, "an AppArmor profile for boxd with 'userns,'; or "
		    "sysctl kernel.apparmor_restrict_unprivileged_userns=0; or run boxd as root",
		    "%s: %s: AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)",
		    step, strerror(err));
	else if (err == EPERM && is_chrooted())
		misses(p, "start boxd outside the chroot", "%s: the kernel refuses user namespaces inside a chroot", step);
	else if (err == EPERM && strncmp(step, "mount proc", 10) == 0)
		misses(p, "start the container with --security-opt systempaths=unconfined, or boxd outside it",
		    "%s: %s: parts of our own /proc are covered, as containers do it", step, strerror(err));
	else if ((err == EPERM || err == ENOSYS) && file_has_line("/proc/self/status", "Seccomp:\t2"))
		misses(p, "start the container with --security-opt seccomp=unconfined, "
		    "or a profile that allows unshare, clone and mount",
		    "%s: %s: a seccomp filter is on us, as containers have it", step, strerror(err));
	else if (err == EACCES)
		misses(p, "allow user_namespace create in the policy", "%s: a security module (SELinux, AppArmor) refuses", step);
	else
		misses(p, "", "%s: %s", step, strerror(err));
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
		misses(p, remedy, "the limit user.max_%s_namespaces is reached", kind);
	else
		misses(p, remedy, "unshare of the %s namespace: %s", kind, strerror(err));
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

/* A user namespace around us with our own uid as root in it, and others; p tells the barrier. */
static int
enter(struct probe *p, int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char  map[64];

	if (unshare(CLONE_NEWUSER) == -1) {
		userns_barrier(p, "unshare", errno);
		return -1;
	}
	snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
	if (write_file("/proc/self/uid_map", map) == -1) {
		userns_barrier(p, "write uid_map", errno);
		return -1;
	}
	snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
	if (write_file("/proc/self/setgroups", "deny") == -1 || write_file("/proc/self/gid_map", map) == -1) {
		userns_barrier(p, "write gid_map", errno);
		return -1;
	}
	return enter_namespaces(p, flags);
}

static void
try_userns(struct probe *p, NO_ARG)
{
	if (enter(p, 0) == 0)
		fine(p);
}

static void
try_namespace(struct probe *p, int flag)
{
	if (enter(p, flag) == 0)
		fine(p);
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
	reap(h->pid);
}

static int
hold_userns(struct probe *p, struct held *h)
{
	int  up[2], down[2];
	char byte;

	if (pipe2(up, O_CLOEXEC) == -1 || pipe2(down, O_CLOEXEC) == -1 || (h->pid = fork_bound()) == -1) {
		misses(p, "", "fork: %s", strerror(errno));
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
	if (write_file(path, map) == -1)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	return write_file(path, map);
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
		misses(p, "run boxd as root", "single uid: no line with %d uids for %s in /etc/subuid", RANGE, user);
		return;
	}
	snprintf(pid, sizeof(pid), "%d", target);
	snprintf(from, sizeof(from), "%u", first);
	snprintf(n, sizeof(n), "%d", RANGE);
	pid_t child = fork_bound();
	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDERR_FILENO);
		execlp("newuidmap", "newuidmap", pid, "0", from, n, (char *)NULL);
		_exit(127);
	}
	int status = reap(child);
	if (status == 0)
		works(p, "%u uids from %u, by newuidmap", count, first);
	else
		misses(p, "install newuidmap (package uidmap), or run boxd as root",
		    "single uid: newuidmap %s", WEXITSTATUS(status) == 127 ? "is not installed" : "refused");
}

static void
try_uid_range(struct probe *p, NO_ARG)
{
	struct held h;

	if (hold_userns(p, &h) == -1)
		return;
	if (geteuid() != 0)
		try_newuidmap(p, h.pid);
	else if (map_range(h.pid) == 0)
		works(p, "%d uids for each session", RANGE);
	else
		misses(p, "run boxd where root has the whole range of uids", "single uid: uid_map: %s%s", strerror(errno),
		    errno == EPERM ? " (see /proc/self/uid_map: we are in a user namespace)" : "");
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
		misses(p, "modprobe it, or use a kernel that has it", "%s: the kernel has no %s", step, type);
	else
		userns_barrier(p, step, errno);
	return -1;
}

/* A place of our own to mount on: a tmpfs over /tmp that only we see. */
static int
enter_scratch(struct probe *p, int flags)
{
	if (enter(p, CLONE_NEWNS | flags) == -1)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) {
		userns_barrier(p, "make mounts private", errno);
		return -1;
	}
	return mount_inside(p, "tmpfs", "/tmp", "size=1m");
}

static void
try_tmpfs(struct probe *p, NO_ARG)
{
	if (enter_scratch(p, 0) == 0)
		fine(p);
}

/* proc shows the pid namespace of who mounts it, so that one must be inside. */
static void
mount_proc_inside(struct probe *p, int flags)
{
	if (enter_scratch(p, flags | CLONE_NEWPID) == -1)
		return;
	pid_t pid = fork_bound();
	if (pid == 0) {
		if (mount_inside(p, "proc", "/proc", NULL) == 0)
			fine(p);
		_exit(0);
	}
	if (pid == -1)
		misses(p, "", "fork in a pid namespace: %s", strerror(errno));
	else
		reap(pid);
}

static void
try_proc(struct probe *p, NO_ARG)
{
	mount_proc_inside(p, 0);
}

static void
try_sandbox(struct probe *p, NO_ARG)
{
	int all = 0;

	for (int i = 0; i < NAMESPACES; i++)
		all |= namespaces[i].flag;
	mount_proc_inside(p, all);
}

static void
try_pivot_root(struct probe *p, NO_ARG)
{
	if (enter_scratch(p, 0) == -1)
		return;
	if (chdir("/tmp") == -1 || syscall(SYS_pivot_root, ".", ".") == -1 || umount2(".", MNT_DETACH) == -1)
		misses(p, errno == EINVAL ? "start boxd from a real root file system, not the initramfs" : "",
		    "pivot_root: %s", strerror(errno));
	else
		fine(p);
}

static void
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
		misses(p, "", "overlay mounts, but a write in it fails: %s", strerror(errno));
	else
		fine(p);
}

static void
try_idmap(struct probe *p, NO_ARG)
{
	struct { /* struct mount_attr; its header does not go with sys/mount.h everywhere */
		uint64_t set, clear, propagation, userns_fd;
	} attr = { .set = 0x00100000 /* MOUNT_ATTR_IDMAP */ };
	struct held h;
	char        path[64];

	AUTO_FD int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
	if (tree == -1) {
		misses(p, errno == EPERM ? "run boxd as root" : "", errno == EPERM ? "needs root" : "open_tree: %s", strerror(errno));
		return;
	}
	if (hold_userns(p, &h) == -1)
		return;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", h.pid);
	AUTO_FD int ns = map_range(h.pid) == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	attr.userns_fd = (uint64_t)ns;
	if (ns == -1)
		misses(p, "", "a user namespace with a range of uids: %s", strerror(errno));
	else if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
		works(p, "on the file system of /");
	else if (errno == EINVAL)
		misses(p, "keep the state directory on ext4, xfs, btrfs or tmpfs", "the file system of / has no id-mapped mounts");
	else
		refused(p, "mount_setattr", "Linux 5.12");
	let_go(&h);
}

/* ---- cgroups ---- */

/* Found by the parent, lent for one run: to a child its own parent would be a stranger in its cgroup. */
static const struct cg_found *found;

static const char *
cgroup_remedy(void)
{
	if (geteuid() == 0)
		return "mount -t cgroup2 none /sys/fs/cgroup (or /sys/fs/cgroup/unified) writable";
	return "systemd-run --user -p Delegate=yes boxd; or run boxd as root";
}

static void
probe_dir(char *out, size_t size, const char *parent, pid_t pid)
{
	snprintf(out, size, "%s/boxd-probe-%d", parent, pid);
}

static int
make_cgroup(struct probe *p, const struct cg_place *place, char *dir, size_t size)
{
	if (place->dir[0] == '\0') {
		misses(p, cgroup_remedy(), "%s", place->why);
		return -1;
	}
	probe_dir(dir, size, place->dir, getpid());
	if (mkdir(dir, 0700) == -1) {
		misses(p, cgroup_remedy(), "mkdir %.150s: %s", dir, strerror(errno));
		return -1;
	}
	return 0;
}

/* The last process of a cgroup may still be on its way out. */
static void
remove_cgroup(const char *dir)
{
	for (int i = 0; i < 50 && rmdir(dir) == -1 && errno == EBUSY; i++)
		usleep(2000);
}

/* Remove what a probe with this pid may have left. */
static void
sweep_cgroups(pid_t pid)
{
	char dir[PATH_MAX + 64];

	for (int c = -1; c < CG__COUNT; c++) {
		const struct cg_place *place = c == -1 ? &found->unified : &found->v1[c];

		probe_dir(dir, sizeof(dir), place->dir, pid);
		if (place->dir[0] != '\0')
			remove_cgroup(dir);
	}
}

/* CLONE_INTO_CGROUP, the child's end: do nothing until killed. */
static pid_t
clone_into(int cgroup, bool linger)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
	} args = { .flags = 0x200000000ULL /* CLONE_INTO_CGROUP */, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup };

	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(DEADLINE_SEC); /* timers are not inherited */
		while (linger)
			pause();
		_exit(0);
	}
	return pid;
}

static void
try_v2_tree(struct probe *p, NO_ARG)
{
	char dir[PATH_MAX + 64];

	if (make_cgroup(p, &found->unified, dir, sizeof(dir)) == 0)
		works(p, "at %.200s", found->unified.dir);
}

static void
try_clone_into(struct probe *p, int kill_it)
{
	char dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (make_cgroup(p, &found->unified, dir, sizeof(dir)) == -1)
		return;
	AUTO_FD int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid_t       pid = clone_into(fd, kill_it);
	if (pid == -1) {
		refused(p, "clone3 with CLONE_INTO_CGROUP", "Linux 5.7");
		return;
	}
	snprintf(file, sizeof(file), "%s/cgroup.kill", dir);
	if (kill_it && write_file(file, "1") == -1) {
		if (errno == ENOENT)
			errno = ENOSYS;
		refused(p, "cgroup.kill", "Linux 5.14");
		kill(pid, SIGKILL);
	} else
		fine(p);
	int status = reap(pid);
	if (kill_it && p->state == PROBE_WORKS && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		misses(p, "", "cgroup.kill did not kill");
}

static const struct {
	const char *v1, *v1_value, *v2, *v2_value;
} limit_files[] = {
	[CG_MEMORY] = { "memory.limit_in_bytes", "67108864", "memory.max", "67108864" },
	[CG_PIDS] = { "pids.max", "64", "pids.max", "64" },
	[CG_CPU] = { "cpu.cfs_quota_us", "50000", "cpu.max", "50000 100000" },
};

static void
try_limit_v1(struct probe *p, const struct cg_place *place, int c)
{
	char dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (make_cgroup(p, place, dir, sizeof(dir)) == -1)
		return;
	snprintf(file, sizeof(file), "%s/%s", dir, limit_files[c].v1);
	if (write_file(file, limit_files[c].v1_value) == -1)
		misses(p, "", "%s: %s", limit_files[c].v1, strerror(errno));
	else
		works(p, "cgroup v1 at %.200s", place->dir);
}

static void
try_limit(struct probe *p, int c)
{
	char dir[PATH_MAX + 64], file[PATH_MAX + 96];

	if (!found->v2[c] && found->v1[c].dir[0] != '\0') {
		try_limit_v1(p, &found->v1[c], c);
		return;
	}
	if (!found->v2[c]) {
		misses(p, cgroup_remedy(), "%.120s; %.120s", found->v1[c].why,
		    found->unified.dir[0] == '\0' ? found->unified.why : "the v2 tree does not offer it either");
		return;
	}
	if (make_cgroup(p, &found->unified, dir, sizeof(dir)) == -1)
		return;
	snprintf(file, sizeof(file), "%s/%s", dir, limit_files[c].v2);
	/* enabling a controller changes the tree for others: that is the daemon's to do, not a probe's */
	if (access(file, F_OK) == -1)
		works(p, "cgroup v2 at %.150s, to be enabled there", found->unified.dir);
	else if (write_file(file, limit_files[c].v2_value) == -1)
		misses(p, "", "%s: %s", limit_files[c].v2, strerror(errno));
	else
		works(p, "cgroup v2 at %.200s", found->unified.dir);
}

/* ---- the rest ---- */

static void
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
		refused(p, "seccomp", "Linux 3.17");
	else if (syscall(SYS_getppid) == -1 && errno == E2BIG)
		fine(p);
	else
		misses(p, "", "a filter was taken and does nothing");
}

static void
try_landlock(struct probe *p, NO_ARG)
{
	struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE };

	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi == -1) {
		if (errno == EOPNOTSUPP)
			misses(p, "boot with lsm=landlock,...", "in the kernel, but not switched on");
		else
			refused(p, "landlock", "Linux 5.13");
		return;
	}
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (rules == -1 || syscall(SYS_landlock_restrict_self, rules, 0) == -1)
		refused(p, "landlock", "Linux 5.13");
	else if (open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES)
		works(p, "ABI %ld", abi);
	else
		misses(p, "", "ABI %ld, but a forbidden file could be opened", abi);
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

static void
try_loop(struct probe *p, NO_ARG)
{
	AUTO_FD int fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int         before = count_loops();

	if (fd == -1) {
		misses(p, errno == EACCES ? "run boxd as root" : "modprobe loop", "/dev/loop-control: %s", strerror(errno));
		return;
	}
	int n = ioctl(fd, LOOP_CTL_GET_FREE);
	if (n == -1) {
		misses(p, "", "LOOP_CTL_GET_FREE: %s", strerror(errno));
		return;
	}
	if (count_loops() > before) /* asking has made it */
		ioctl(fd, LOOP_CTL_REMOVE, n);
	fine(p);
}

static void
try_btrfs(struct probe *p, NO_ARG)
{
	if (file_has_line("/proc/filesystems", "\tbtrfs"))
		fine(p);
	else
		misses(p, "modprobe btrfs", "not in /proc/filesystems");
}

/* Ask nf_tables for its generation: the smallest question that only it answers. */
static int
ask_nftables(int fd)
{
	struct {
		struct nlmsghdr  head;
		struct nfgenmsg  body;
	} ask = {
		.head = { sizeof(ask), NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETGEN, NLM_F_REQUEST, 1, 0 },
		.body = { .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0 },
	};
	union {
		struct nlmsghdr head;
		char            bytes[4096];
	} got = { 0 };

	if (send(fd, &ask, sizeof(ask), 0) == -1)
		return -1;
	ssize_t n = recv(fd, &got, sizeof(got), 0);
	if (n < (ssize_t)sizeof(got.head))
		return -1;
	if (got.head.nlmsg_type != NLMSG_ERROR)
		return 0;
	errno = -((struct nlmsgerr *)NLMSG_DATA(&got.head))->error;
	return errno == 0 ? 0 : -1;
}

static void
try_nftables(struct probe *p, NO_ARG)
{
	if (enter(p, CLONE_NEWNET) == -1)
		return;
	AUTO_FD int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	if (fd == -1)
		misses(p, "modprobe nfnetlink", "netfilter socket: %s", strerror(errno));
	else if (ask_nftables(fd) == -1)
		misses(p, "modprobe nf_tables", "nf_tables does not answer: %s", strerror(errno));
	else
		fine(p);
}

static void
try_pidfd(struct probe *p, NO_ARG)
{
	siginfo_t info = { 0 };

	pid_t pid = fork_bound();
	if (pid == 0)
		_exit(7);
	AUTO_FD int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd == -1)
		refused(p, "pidfd_open", "Linux 5.3");
	else if (waitid((idtype_t)ID_PIDFD, (id_t)fd, &info, WEXITED) == -1)
		refused(p, "waitid of a pidfd", "Linux 5.4");
	else if (info.si_status == 7)
		fine(p);
	else
		misses(p, "", "waitid of a pidfd told a wrong status");
}

static void
try_memfd(struct probe *p, NO_ARG)
{
	AUTO_FD int fd = memfd_create("boxd-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd == -1)
		refused(p, "memfd_create", "Linux 3.17");
	else if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == -1)
		refused(p, "F_ADD_SEALS", "Linux 3.17");
	else if (write(fd, "x", 1) == -1 && errno == EPERM)
		fine(p);
	else
		misses(p, "", "a sealed memfd could be written");
}

static void
try_close_range(struct probe *p, NO_ARG)
{
	int fd = dup(STDIN_FILENO);

	if (fd == -1)
		fd = open("/", O_PATH);
	if (syscall(SYS_close_range, (unsigned)fd, ~0U, 0) == -1)
		refused(p, "close_range", "Linux 5.9");
	else if (fcntl(fd, F_GETFD) == -1)
		fine(p);
	else
		misses(p, "", "close_range left a descriptor open");
}

static void
try_openat2(struct probe *p, NO_ARG)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };

	if (syscall(SYS_openat2, AT_FDCWD, "/proc/self/status", &how, sizeof(how)) != -1)
		misses(p, "", "RESOLVE_NO_SYMLINKS followed the symbolic link /proc/self");
	else if (errno == ELOOP)
		fine(p);
	else
		refused(p, "openat2", "Linux 5.6");
}

/* ---- the table ---- */

static const struct row {
	const char *name;
	const char *gives;
	void      (*try)(struct probe *, int arg);
	int         arg;
	bool        required;
	bool        cgroups; /* may leave directories there */
} rows[] = {
	{ "user namespace", "root inside is nobody outside", try_userns, 0, true, false },
	{ "pid namespace", "sees and signals only its own processes", try_namespace, CLONE_NEWPID, true, false },
	{ "mount namespace", "a file tree of its own", try_namespace, CLONE_NEWNS, true, false },
	{ "net namespace", "network off", try_namespace, CLONE_NEWNET, true, false },
	{ "ipc namespace", "no shared memory with others", try_namespace, CLONE_NEWIPC, true, false },
	{ "uts namespace", "a host name of its own", try_namespace, CLONE_NEWUTS, true, false },
	{ "cgroup namespace", "the host's cgroup paths stay unseen", try_namespace, CLONE_NEWCGROUP, true, false },
	{ "uid range", "no two sessions share a host uid", try_uid_range, 0, false, false },
	{ "tmpfs inside", "/tmp and /dev of a sandbox", try_tmpfs, 0, true, false },
	{ "proc inside", "/proc of a sandbox", try_proc, 0, true, false },
	{ "pivot_root", "the host's root is gone inside", try_pivot_root, 0, true, false },
	{ "overlay inside", "a writable root file system", try_overlay, 0, false, false },
	{ "id-mapped mounts", "files keep their owner in shared directories", try_idmap, 0, false, false },
	{ "cgroup v2 tree", "a cgroup for each command", try_v2_tree, 0, false, true },
	{ "clone into cgroup", "a command is never outside its cgroup", try_clone_into, false, false, true },
	{ "cgroup.kill", "a timeout kills exactly one command's tree", try_clone_into, true, false, true },
	{ "memory limit", "memory of a session", try_limit, CG_MEMORY, false, true },
	{ "pids limit", "processes of a session", try_limit, CG_PIDS, false, true },
	{ "cpu limit", "cpu time of a session", try_limit, CG_CPU, false, true },
	{ "seccomp", "system calls a command never needs are refused", try_seccomp, 0, false, false },
	{ "landlock", "a second wall behind the mounts", try_landlock, 0, false, false },
	{ "pidfd", "processes are waited for without pid reuse", try_pidfd, 0, true, false },
	{ "memfd sealing", "large messages pass uncopied", try_memfd, 0, true, false },
	{ "close_range", "no descriptor leaks into a sandbox", try_close_range, 0, true, false },
	{ "openat2", "host paths are opened without symlink tricks", try_openat2, 0, true, false },
	{ "loop devices", "a workspace with a hard size", try_loop, 0, false, false },
	{ "btrfs", "workspace quotas without loop devices", try_btrfs, 0, false, false },
	{ "nftables", "network on, by redirection to the egress proxy", try_nftables, 0, false, false },
};

/* In the child: nothing of the parent's signal handling, and a deadline. */
static void
child_begin(void)
{
	sigset_t none;

	sigemptyset(&none);
	signal(SIGALRM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	was_root = geteuid() == 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1); /* else /proc/self/uid_map would belong to root */
	alarm(DEADLINE_SEC);
}

static void
run_row(const struct row *row, struct probe *p, const struct cg_found *places)
{
	struct probe *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*p = (struct probe){ row->name, row->gives, row->required, PROBE_UNKNOWN, "", "" };
	snprintf(p->why, sizeof(p->why), "the probe did not finish within %d s", DEADLINE_SEC);
	if (shared == MAP_FAILED)
		return;
	*shared = *p;
	found = places;
	pid_t pid = fork();
	if (pid == 0) {
		child_begin();
		row->try(shared, row->arg);
		_exit(0);
	}
	if (pid > 0) {
		reap(pid);
		*p = *shared;
		if (row->cgroups)
			sweep_cgroups(pid);
	} else
		snprintf(p->why, sizeof(p->why), "fork: %s", strerror(errno));
	munmap(shared, sizeof(*shared));
}

size_t
probe_count(void)
{
	return sizeof(rows) / sizeof(*rows);
}

void
probe_run(size_t i, struct probe *p)
{
	struct cg_found places;

	cgfind(&places, "");
	run_row(&rows[i], p, &places);
}

const char *
probe_state_name(enum probe_state s)
{
	return s == PROBE_WORKS ? "works" : s == PROBE_MISSING ? "missing" : "unknown";
}

int
probe_userns(struct err *e)
{
	static const struct row row = { .name = "sandbox", .gives = "", .try = try_sandbox, .required = true };
	struct probe            p;

	run_row(&row, &p, NULL);
	if (p.state == PROBE_WORKS)
		return 0;
	return err_set(e, E_BACKEND, "no sandbox can be made here: %s%s%s", p.why,
	    p.remedy[0] != '\0' ? "; remedy: " : "", p.remedy);
}

/* ---- what follows from it ---- */

static void __attribute__((format(printf, 2, 3)))
wall_misses(struct walls *w, const char *fmt, ...)
{
	va_list ap;

	if (w->nmissing == WALLS_MISSING)
		return;
	va_start(ap, fmt);
	vsnprintf(w->missing[w->nmissing++], sizeof(w->missing[0]), fmt, ap);
	va_end(ap);
	if (w->tier == TIER_FULL)
		w->tier = TIER_REDUCED;
}

static bool
probe_by(void (*try)(struct probe *, int), int arg, struct probe *p, const struct cg_found *places)
{
	for (size_t i = 0; i < probe_count(); i++) {
		if (rows[i].try != try || rows[i].arg != arg)
			continue;
		run_row(&rows[i], p, places);
		return p->state == PROBE_WORKS;
	}
	return false;
}

static void
wall_limits(struct walls *w, const struct cg_found *places)
{
	size_t used = 0;

	for (int c = 0; c < CG__COUNT; c++) {
		bool v1 = places->v1[c].dir[0] != '\0';

		if (places->v2[c] || v1)
			used += (size_t)snprintf(w->limits + used, sizeof(w->limits) - used, "%s%s by cgroup %s",
			    used > 0 ? ", " : "", cg_name(c), places->v2[c] ? "v2" : "v1");
		else
			wall_misses(w, "%s limit: %s; %s", cg_name(c), places->v1[c].why,
			    places->unified.dir[0] == '\0' ? places->unified.why : "the v2 tree does not offer it either");
	}
	if (used == 0)
		snprintf(w->limits, sizeof(w->limits), "none");
}

static void
wall_uids(struct walls *w)
{
	struct probe p;

	snprintf(w->uids, sizeof(w->uids), "single");
	if (geteuid() != 0)
		wall_misses(w, "uid range: boxd as uid %u has only its own uid for its sandboxes; run it as root",
		    (unsigned)geteuid());
	else if (probe_by(try_uid_range, 0, &p, NULL))
		snprintf(w->uids, sizeof(w->uids), "range");
	else
		wall_misses(w, "uid range: %s; %s", p.why, p.remedy);
}

void
probe_walls(struct walls *w, const struct cg_found *places)
{
	struct probe p;
	struct err   e;

	*w = (struct walls){ .tier = TIER_FULL };
	if (probe_userns(&e) == -1) {
		w->tier = TIER_NONE;
		wall_misses(w, "%s", e.text);
		return;
	}
	wall_uids(w);
	wall_limits(w, places);
	snprintf(w->kill, sizeof(w->kill), "pid namespace of the session");
	if (places->unified.dir[0] == '\0')
		wall_misses(w, "kill cgroups: %s", places->unified.why);
	else if (probe_by(try_clone_into, true, &p, places))
		snprintf(w->kill, sizeof(w->kill), "cgroup v2");
	else
		wall_misses(w, "kill cgroups: %s", p.why);
	if (!probe_by(try_seccomp, 0, &p, NULL))
		wall_misses(w, "seccomp: %s", p.why);
}

struct msg_isolation
walls_isolation(const struct walls *w, const char *list[WALLS_MISSING + 1])
{
	for (size_t i = 0; i < w->nmissing; i++)
		list[i] = w->missing[i];
	list[w->nmissing] = NULL;
	return (struct msg_isolation){
		.tier = w->tier,
		.uids = w->uids,
		.limits = w->limits,
		.kill = w->kill,
		.missing = { w->nmissing, list },
	};
}
