/*
 * The root of a sandbox: a read-only clone of the skeleton (supervisor/core/skeleton.c
 * makes it once: /etc, symlinks, empty mount points, device nodes) with the host's
 * programs mounted read-only into it, and small tmpfs where writing is allowed.
 *
 * The skeleton's directory is closed to everybody but the daemon, so a root daemon's
 * worker opens it and hands mounts over; an ordinary user's child still may itself.
 * The rest happens as root inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/sys.h"
#include "sandbox/layers.h"
#include "sandbox/place.h"
#include "sandbox/procfs.h"
#include "sandbox/sandbox.h"
#include "sandbox/tree.h"

/* Read-only views of the host.  What is a symlink on the host is one in the skeleton. */
const char *const root_host_view[] = {
	"/usr",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/etc/alternatives",
	"/etc/ssl/certs", /* and never /etc/ssl/private */
	"/etc/pki/tls/certs",
	"/etc/pki/ca-trust/extracted",
	"/etc/ld.so.cache",
	NULL,
};

/* Device nodes an ordinary user cannot make in the skeleton, so they come by bind mount. */
static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };

enum { SEALED = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

static int
bind_view(const char *source, const char *at, uint64_t attributes, struct err *e)
{
	AUTO_FD int tree = tree_copy(AT_FDCWD, source, true, attributes);

	if (tree == -1)
		return err_sys(e, "bind %s", source);
	return tree_put(tree, at, e);
}

/* The skeleton has an entry of the right kind for each path that the host has as well. */
static int
mount_host_view(struct err *e)
{
	for (size_t i = 0; root_host_view[i] != NULL; i++) {
		const char *path = root_host_view[i];
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

/* Wherever the spec wants it. */
static int
mount_workspace(const struct sandbox_plan *p, struct err *e)
{
	AUTO_FD int at = place_make_for_client(p->workspace_at, false, false, e);
	char        path[32];

	if (at == -1)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	if (p->workspace_tree == -1)
		return mount_tmpfs(path, 0, "0755", p->workspace_mb, p->inodes, e);
	if (sys_move_mount(p->workspace_tree, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1)
		return err_sys(e, "mount the workspace on %s", p->workspace_at);
	return 0;
}

static int
mount_writable(const struct sandbox_plan *p, struct err *e)
{
	if (mount_tmpfs("tmp", 0, "1777", p->tmp_mb, p->inodes, e) == -1 ||
	    mount_tmpfs("home", 0, "0755", p->tmp_mb, p->inodes, e) == -1 ||
	    (p->workspace_at != NULL && mount_workspace(p, e) == -1))
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
mask(const char *path, enum mask how, const char *empty, struct err *e)
{
	switch (how) {
	case EMPTY_FILE:
		return bind_view("dev/null", path, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);
	case EMPTY_DIR:
		return bind_view(empty, path, SEALED, e);
	case READ_ONLY:
		return bind_view(path, path, SEALED | MOUNT_ATTR_NOEXEC, e);
	}
	return 0;
}

/* id: the mount that /proc is, for as long as the sandbox lives */
static int
mount_proc(const struct sandbox_plan *p, uint64_t *id, struct err *e)
{
	const char *empty = p->layers->used ? "../empty" : "run"; /* the skeleton's /run is empty and stays so */
	struct stat st;

	if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == -1)
		return err_sys(e, "mount proc");
	AUTO_FD int proc = procfs_open(AT_FDCWD, "proc", e);
	if (proc == -1)
		return -1;
	if (procfs_mount(proc, id) == -1)
		return err_sys(e, "which mount is /proc");
	for (size_t i = 0; i < sizeof(masks) / sizeof(*masks); i++)
		if (lstat(masks[i].path, &st) == 0 && mask(masks[i].path, masks[i].how, empty, e) == -1)
			return err_prefix(e, "mask");
	return 0;
}

/* Init and all helpers believe what is there: it is the mount that we made, and nothing has been put over it. */
static int
check_proc(uint64_t made, struct err *e)
{
	AUTO_FD int proc = procfs_open(AT_FDCWD, "proc", e);
	uint64_t    id;

	if (proc == -1)
		return -1;
	if (procfs_mount(proc, &id) == -1)
		return err_sys(e, "which mount is /proc");
	return id == made ? 0 : err_set(e, E_BACKEND, "something was mounted over /proc of the sandbox");
}

/* ---- the skeleton ------------------------------------------------------------ */

static int
copy_skeleton(int ns, int skeleton, const char *path, uint64_t attributes)
{
	if (ns == -1)
		return tree_copy(skeleton, path, true, attributes);
	return tree_copy_from(ns, skeleton, path, attributes);
}

/* /dev is a mount of its own: the one place where device nodes may work. */
int
root_detach(int ns, int skeleton, int *root_tree, int *dev_tree, struct err *e)
{
	*root_tree = copy_skeleton(ns, skeleton, "", SEALED);
	*dev_tree = copy_skeleton(ns, skeleton, "dev", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (*root_tree == -1 || *dev_tree == -1)
		return err_sys(e, "clone the skeleton");
	return 0;
}

/* The worker's descriptor is of another mount namespace; its name leads to ours. */
static int
open_by_name(int worker_fd, struct err *e)
{
	char path[64], real[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", worker_fd);
	ssize_t n = readlink(path, real, sizeof(real) - 1);
	if (n == -1)
		return err_sys(e, "the skeleton's path");
	real[n] = '\0';
	int fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd == -1 ? err_sys(e, "open %s", real) : fd;
}

static int
detach_by_name(const struct sandbox_plan *p, int *root_tree, int *dev_tree, struct err *e)
{
	AUTO_FD int skeleton = open_by_name(p->skeleton, e);

	if (skeleton == -1 || root_detach(-1, skeleton, root_tree, dev_tree, e) == -1)
		return -1;
	if (p->image == -1)
		return 0;
	AUTO_FD int image = open_by_name(p->image, e);
	fd_close(root_tree);
	if (image >= 0 && (*root_tree = tree_copy(image, "", true, SEALED)) == -1)
		err_sys(e, "clone the image");
	return *root_tree == -1 ? -1 : 0;
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

/* An image has to have what we mount on, or gets it; a link there would lead the mount astray. */
static int
image_points(struct err *e)
{
	static const char *const points[] = { "/dev", "/proc", "/tmp", "/home" };
	struct stat              st;

	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		AUTO_FD int at = place_make(points[i], false, e);

		if (at == -1)
			return -1;
		if (lstat(points[i] + 1, &st) == -1 || !S_ISDIR(st.st_mode))
			return err_set(e, E_INVALID, "spec.image: %s of the image is not a directory", points[i]);
	}
	return 0;
}

/* The skeleton alone; or an overlay of layers, on a tmpfs that is seen nowhere else. */
static int
stand_on_root(const struct sandbox_plan *p, int root_tree, struct err *e)
{
	if (!p->layers->used)
		return stand_on(root_tree, e);
	AUTO_FD int scratch = tree_tmpfs(p->layers->mb, p->layers->inodes);
	if (scratch == -1)
		return err_sys(e, "make a tmpfs for the root");
	if (stand_on(scratch, e) == -1 || layers_build(p->layers, root_tree, e) == -1)
		return -1;
	return p->layers->image ? image_points(e) : 0;
}

/* An image may have a link there; it must not lead into what is mounted for a client. */
static int
open_etc(struct err *e)
{
	AUTO_FD int etc = place_make("/etc", false, e);
	AUTO_FD int root = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t    of_etc, of_root;

	if (etc == -1)
		return -1;
	if (procfs_mount(etc, &of_etc) == -1 || procfs_mount(root, &of_root) == -1)
		return err_sys(e, "which mount is /etc");
	if (of_etc != of_root)
		return err_set(e, E_INVALID, "spec.image: /etc of the image is a link that leads into a mount");
	return fd_take(&etc);
}

/*
 * The skeleton names box-egress as the resolver already.  An image has a file of its own, or a link to somewhere;
 * there, and with slirp4netns, the root is an overlay that can still be written.
 */
static int
write_resolver(const struct sandbox_plan *p, struct err *e)
{
	const char *text = p->net.mode == NET_MODE_SLIRP ? "nameserver " SLIRP_DNS "\n" : "nameserver 127.0.0.1\n";

	if (p->net.mode != NET_MODE_SLIRP && (p->net.mode != NET_MODE_EGRESS || !p->layers->image))
		return 0;
	AUTO_FD int etc = open_etc(e);
	if (etc == -1)
		return -1;
	unlinkat(etc, "resolv.conf", 0);
	AUTO_FD int fd = openat(etc, "resolv.conf", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		return err_sys(e, "write /etc/resolv.conf inside");
	return 0;
}

int
root_build(const struct sandbox_plan *p, struct err *e)
{
	int      root_tree = p->root_tree, dev_tree = p->dev_tree;
	uint64_t proc = 0;
	bool     bare = !p->layers->image && !(p->layers->used && p->layers->writable);

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return err_sys(e, "make the mounts private");
	if ((root_tree == -1 && detach_by_name(p, &root_tree, &dev_tree, e) == -1) || mounts_detach(p->mounts, e) == -1)
		return -1;
	if (userns_become_root(p, e) == -1 || stand_on_root(p, root_tree, e) == -1 ||
	    tree_put(dev_tree, "dev", e) == -1)
		return -1;
	if ((bare && mount_host_view(e) == -1) || mount_dev(e) == -1 || mount_writable(p, e) == -1 ||
	    mount_proc(p, &proc, e) == -1 || mounts_put(p->mounts, false, e) == -1 || write_resolver(p, e) == -1 ||
	    layers_seal(p->layers, e) == -1 || check_proc(proc, e) == -1)
		return -1;
	return pivot(e); /* what is still open is closed when init is executed */
}
