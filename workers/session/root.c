/*
 * The root of a sandbox: a read-only clone of the skeleton (supervisor/skeleton.c
 * makes it once: /etc, symlinks, empty mount points, device nodes) with the host's
 * programs mounted read-only into it, and small tmpfs where writing is allowed.
 *
 * The skeleton's directory is closed to everybody but the daemon, so a root daemon's
 * worker opens it and hands mounts over; an ordinary user's child still may itself.
 * The rest happens as root inside.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "fd.h"
#include "bounds.h"
#include "sandbox.h"
#include "sys.h"

/* Read-only views of the host.  What is a symlink on the host is one in the skeleton. */
static const char *const host_view[] = {
	"/usr",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/etc/alternatives",
	"/etc/ssl",
	"/etc/ld.so.cache",
};

/* Device nodes an ordinary user cannot make in the skeleton, so they come by bind mount. */
static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };

enum { SEALED = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

/* A detached copy of a mount tree with these attributes; -1 with errno when not there. */
static int
tree_copy(int dir, const char *path, uint64_t attributes)
{
	/* private: what is mounted on it later must not appear where it was copied from */
	struct mount_attr attr = { .attr_set = attributes, .propagation = MS_PRIVATE };
	unsigned          empty = *path == '\0' ? AT_EMPTY_PATH : 0;
	AUTO_FD int       tree = sys_open_tree(
		  dir, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | empty);

	if (tree == -1)
		return -1;
	if (sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr) == -1)
		return -1;
	return fd_take(&tree);
}

static int
tree_put(int tree, const char *at, struct err *e)
{
	if (sys_move_mount(tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH) == -1)
		return err_sys(e, "mount on %s", at);
	return 0;
}

static int
bind_view(const char *source, const char *at, uint64_t attributes, struct err *e)
{
	AUTO_FD int tree = tree_copy(AT_FDCWD, source, attributes);

	if (tree == -1)
		return err_sys(e, "bind %s", source);
	return tree_put(tree, at, e);
}

/* The skeleton has an entry of the right kind for each path that the host has as well. */
static int
mount_host_view(struct err *e)
{
	for (size_t i = 0; i < sizeof(host_view) / sizeof(*host_view); i++) {
		const char *path = host_view[i];
		struct stat host, here;

		if (lstat(path, &host) == -1 || S_ISLNK(host.st_mode))
			continue;
		if (lstat(path + 1, &here) == -1 || S_ISLNK(here.st_mode))
			continue;
		if (bind_view(path, path + 1, SEALED, e) == -1)
			return -1;
	}
	return 0;
}

static int
mount_tmpfs(const char *at, unsigned long flags, const char *mode, uint64_t mb, uint64_t inodes, struct err *e)
{
	char options[128];

	snprintf(options, sizeof(options), "size=%luk,nr_inodes=%lu,mode=%s", mb * KIB, inodes, mode);
	if (mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV | flags, options) == -1)
		return err_sys(e, "mount a tmpfs (%s) on %s", options, at);
	return 0;
}

static int
mount_writable(const struct sandbox_plan *p, struct err *e)
{
	if (mount_tmpfs("tmp", 0, "1777", p->tmp_mb, p->inodes, e) == -1 ||
	    mount_tmpfs("home", 0, "0755", p->tmp_mb, p->inodes, e) == -1)
		return -1;
	if (p->workspace_tree >= 0 ? tree_put(p->workspace_tree, "workspace", e) == -1
				   : mount_tmpfs("workspace", 0, "0755", p->workspace_mb, p->inodes, e) == -1)
		return -1;
	return mount_tmpfs("dev/shm", MS_NOEXEC, "1777", p->tmp_mb, p->inodes, e);
}

static int
mount_dev(struct err *e)
{
	char        host[32], here[32];
	struct stat st;

	if (mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,max=64") ==
	    -1)
		return err_sys(e, "mount devpts");
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		snprintf(host, sizeof(host), "/dev/%s", devices[i]);
		snprintf(here, sizeof(here), "dev/%s", devices[i]);
		if (stat(here, &st) == 0 && S_ISCHR(st.st_mode))
			continue; /* root made a real node in the skeleton */
		if (bind_view(host, here, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e) == -1)
			return -1;
	}
	return 0;
}

/* ---- /proc ----------------------------------------------------------------- */

enum mask { EMPTY_FILE, EMPTY_DIR, READ_ONLY };

/*
 * What in /proc is the machine's and not the sandbox's.  Most of it is closed to
 * an unprivileged uid anyway; this does not lean on file modes.
 */
static const struct {
	const char *path;
	enum mask   how;
} masks[] = {
	{ "proc/acpi", EMPTY_DIR },
	{ "proc/asound", EMPTY_DIR },
	{ "proc/scsi", EMPTY_DIR },
	{ "proc/cmdline", EMPTY_FILE }, /* boot arguments: may name hosts, disks, secrets */
	{ "proc/config.gz", EMPTY_FILE },
	{ "proc/kcore", EMPTY_FILE },
	{ "proc/key-users", EMPTY_FILE },
	{ "proc/keys", EMPTY_FILE },
	{ "proc/kmsg", EMPTY_FILE },
	{ "proc/latency_stats", EMPTY_FILE },
	{ "proc/sched_debug", EMPTY_FILE },
	{ "proc/timer_list", EMPTY_FILE },
	{ "proc/bus", READ_ONLY },
	{ "proc/fs", READ_ONLY },
	{ "proc/irq", READ_ONLY },
	{ "proc/pressure", READ_ONLY },
	{ "proc/sys", READ_ONLY },
	{ "proc/sysrq-trigger", READ_ONLY },
};

static int
mask(const char *path, enum mask how, struct err *e)
{
	switch (how) {
	case EMPTY_FILE:
		return bind_view("dev/null", path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
	case EMPTY_DIR:
		return bind_view("run", path, SEALED, e); /* the skeleton's /run is empty and stays so */
	case READ_ONLY:
		return bind_view(path, path, SEALED | MOUNT_ATTR_NOEXEC, e);
	}
	return 0;
}

static int
mount_proc(struct err *e)
{
	struct stat st;

	if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == -1)
		return err_sys(e, "mount proc");
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		if (lstat(masks[i].path, &st) == 0 && mask(masks[i].path, masks[i].how, e) == -1)
			return err_prefix(e, "mask");
	return 0;
}

/* ---- the skeleton ------------------------------------------------------------ */

/* /dev is a mount of its own: the one place where device nodes may work. */
int
root_detach(int skeleton, int *root_tree, int *dev_tree, struct err *e)
{
	*root_tree = tree_copy(skeleton, "", SEALED);
	*dev_tree = tree_copy(skeleton, "dev", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (*root_tree == -1 || *dev_tree == -1)
		return err_sys(e, "clone the skeleton");
	return 0;
}

/* The worker's descriptor is of another mount namespace; its name leads to ours. */
static int
detach_by_name(int worker_fd, int *root_tree, int *dev_tree, struct err *e)
{
	char path[64], real[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", worker_fd);
	ssize_t n = readlink(path, real, sizeof(real) - 1);
	if (n == -1)
		return err_sys(e, "the skeleton's path");
	real[n] = '\0';
	AUTO_FD int skeleton = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (skeleton == -1)
		return err_sys(e, "open %s", real);
	return root_detach(skeleton, root_tree, dev_tree, e);
}

/* The new root needs some directory of the old one to stand on until it is the root. */
static int
stand_on(int tree, struct err *e)
{
	static const char *const places[] = { "/tmp", "/mnt", "/var", "/usr" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (sys_move_mount(tree, "", AT_FDCWD, places[i], MOVE_MOUNT_F_EMPTY_PATH) == 0) {
			if (chdir(places[i]) == -1)
				return err_sys(e, "chdir to the new root");
			return 0;
		}
	return err_sys(e, "mount the new root on /tmp, /mnt, /var or /usr");
}

/* Both roots on one spot: the old one is then on top, and goes. */
static int
pivot(struct err *e)
{
	if (syscall(SYS_pivot_root, ".", ".") == -1)
		return err_sys(e, "pivot_root");
	if (umount2(".", MNT_DETACH) == -1)
		return err_sys(e, "detach the host's root");
	if (chdir("/") == -1)
		return err_sys(e, "chdir /");
	return 0;
}

int
root_build(const struct sandbox_plan *p, struct err *e)
{
	int root_tree = p->root_tree, dev_tree = p->dev_tree;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return err_sys(e, "make the mounts private");
	if (root_tree == -1 && detach_by_name(p->skeleton, &root_tree, &dev_tree, e) == -1)
		return -1;
	if (stand_on(root_tree, e) == -1 || tree_put(dev_tree, "dev", e) == -1 || userns_become_root(p, e) == -1)
		return -1;
	if (mount_host_view(e) == -1 || mount_dev(e) == -1 || mount_writable(p, e) == -1 || mount_proc(e) == -1)
		return -1;
	return pivot(e); /* what is still open is closed when init is executed */
}
