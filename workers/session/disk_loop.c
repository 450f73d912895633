/*
 * A private workspace on an ext4 file system of its own, in a sparse file behind a loop
 * device.  Its size and its inode table are the limits; no trick with files gets around
 * them.
 *
 * An empty file system of each size is made once by mkfs.ext4 and kept as a template;
 * a session's image is a sparse copy of it, which takes a fraction of what mkfs takes.
 * The image has no name from before it is mounted, and the loop device clears itself
 * with its last user: when the mount goes, the kernel frees all of it, whoever crashed.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "bounds.h"
#include "disk.h"
#include "fd.h"
#include "sys.h"

#define IMAGE "workspace.img"

enum {
	BLOCK = 4096,      /* of the loop device; smaller ones of the file system would not fit it */
	INODE = 256,       /* bytes in the inode table, ext4's default */
	RESERVED = 11,     /* inodes ext4 keeps, lost+found among them */
	PER_INODE = 16384, /* a large workspace has an inode for so many bytes, ext4's default, at the least */
	TRIES = 64,        /* between asking for a free loop device and taking it others may take it */
};

static uint64_t
inodes_of(const struct disk_ask *ask)
{
	uint64_t usual = ask->bytes / PER_INODE;

	return (usual > ask->inodes ? usual : ask->inodes) + RESERVED;
}

/* Beside the bytes asked for: inode tables, bitmaps, and the 2 % up to 16 MiB that ext4 keeps for its own use. */
static uint64_t
image_bytes(const struct disk_ask *ask)
{
	uint64_t own = ask->bytes / 48 < 17 * MIB ? ask->bytes / 48 : 17 * MIB;
	uint64_t all = ask->bytes + inodes_of(ask) * INODE + own + ask->bytes / 2048 + MIB;

	return (all + MIB - 1) / MIB * MIB;
}

/* ---- the image ------------------------------------------------------------------ */

static const char *
find_mkfs(void)
{
	static const char *const places[] = { "/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

/* Its standard error becomes the reason. */
static int
run(const char *program, char *const argv[], struct err *e)
{
	static char *const         env[] = { "MKE2FS_CONFIG=/dev/null", "LC_ALL=C", NULL };
	posix_spawn_file_actions_t io;
	char                       said[256] = "";
	int                        ends[2], status = -1;
	pid_t                      pid;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return err_sys(e, "pipe");
	posix_spawn_file_actions_init(&io);
	posix_spawn_file_actions_addopen(&io, 0, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&io, 0, 1);
	posix_spawn_file_actions_adddup2(&io, ends[1], 2);
	int r = posix_spawn(&pid, program, &io, NULL, argv, env);
	posix_spawn_file_actions_destroy(&io);
	close(ends[1]);
	if (r == 0) {
		ssize_t n = read(ends[0], said, sizeof(said) - 1);
		said[n > 0 ? n : 0] = '\0';
	}
	close(ends[0]); /* should it have more to say, it ends by SIGPIPE */
	if (r != 0) {
		errno = r;
		return err_sys(e, "start %s", program);
	}
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (status == 0)
		return 0;
	said[strcspn(said, "\n")] = '\0';
	return err_set(e, E_BACKEND, "%s failed: %s", program, *said ? said : "it said nothing");
}

/*
 * No journal: nothing of it shall outlive the machine.  The kernel takes inode tables
 * that were never written for empty.
 */
static int
mkfs(int image, const struct disk_ask *ask, struct err *e)
{
	static char features[] = "^has_journal,^resize_inode,extent,flex_bg,uninit_bg,huge_file,dir_nlink,"
				 "sparse_super,large_file,filetype,dir_index,ext_attr,64bit";
	const char *program = find_mkfs();
	char        inodes[24];
	char *argv[] = { "mkfs.ext4", "-q", "-F", "-b", "4096", "-I", "256", "-m", "0", "-N", inodes, "-O", features,
		"-E", "lazy_itable_init=1,nodiscard,root_owner=0:0", IMAGE, NULL };

	if (program == NULL)
		return err_set(e, E_BACKEND, "mkfs.ext4 is not installed (package e2fsprogs)");
	if (ftruncate(image, (off_t)image_bytes(ask)) == -1)
		return err_sys(e, "make a file of %lu MiB for the workspace", image_bytes(ask) / MIB);
	snprintf(inodes, sizeof(inodes), "%lu", inodes_of(ask));
	return run(program, argv, e);
}

static int
copy_range(int from, int to, off_t at, off_t end, struct err *e)
{
	while (at < end) {
		off_t   there = at;
		ssize_t n = copy_file_range(from, &at, to, &there, (size_t)(end - at), 0);

		if (n <= 0)
			return err_sys(e, "copy the workspace's template");
	}
	return 0;
}

/* Only what is not a hole; a clone where the file system can. */
static int
copy_sparse(int from, int to, off_t size, struct err *e)
{
	off_t data = 0, hole = 0;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	if (ftruncate(to, size) == -1)
		return err_sys(e, "make a file of %lu MiB for the workspace", (unsigned long)size / MIB);
	while (hole < size && (data = lseek(from, hole, SEEK_DATA)) != -1) {
		if ((hole = lseek(from, data, SEEK_HOLE)) == -1)
			return err_sys(e, "read the workspace's template");
		if (copy_range(from, to, data, hole, e) == -1)
			return -1;
	}
	return 0;
}

/* ---- templates ---------------------------------------------------------------------- */

static void
template_name(const struct disk_ask *ask, char name[64])
{
	snprintf(name, 64, "ext4-%lu-%lu", image_bytes(ask), inodes_of(ask));
}

static bool
has_room(int dir)
{
	int    fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR   *d = fd == -1 ? NULL : fdopendir(fd);
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n > 0 && n < LIM_TEMPLATES + 2;
}

/* It gets its name when it is whole and on the disk.  Without it the next session runs mkfs again. */
static void
template_keep(const struct disk_ask *ask, int image)
{
	char       name[64], path[64];
	struct err ignored;

	if (ask->templates == -1 || !has_room(ask->templates))
		return;
	AUTO_FD int copy = openat(ask->templates, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (copy == -1 || copy_sparse(image, copy, (off_t)image_bytes(ask), &ignored) == -1 || fsync(copy) == -1)
		return;
	template_name(ask, name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	if (linkat(AT_FDCWD, path, ask->templates, name, AT_SYMLINK_FOLLOW) == -1)
		return; /* somebody else was as fast */
}

static int
template_open(const struct disk_ask *ask)
{
	char        name[64];
	struct stat st;

	template_name(ask, name);
	AUTO_FD int fd = openat(ask->templates, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd == -1 || fstat(fd, &st) == -1 || st.st_size != (off_t)image_bytes(ask))
		return -1;
	return fd_take(&fd);
}

/* A file with an empty file system in it, and without a name. */
static int
image_make(const struct disk_ask *ask, struct err *e)
{
	AUTO_FD int template = template_open(ask);
	AUTO_FD int image = open(IMAGE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int         r;

	if (image == -1)
		return err_sys(e, "make the workspace's image");
	if (template >= 0)
		r = copy_sparse(template, image, (off_t)image_bytes(ask), e);
	else if ((r = mkfs(image, ask, e)) == 0)
		template_keep(ask, image);
	unlink(IMAGE);
	return r == -1 ? -1 : fd_take(&image);
}

/* ---- the loop device and the mount ------------------------------------------------------ */

static int
loop_take(int control, int image, char device[32], struct err *e)
{
	int n = ioctl(control, LOOP_CTL_GET_FREE);

	if (n == -1)
		return err_sys(e, "no free loop device: LOOP_CTL_GET_FREE");
	snprintf(device, 32, "/dev/loop%d", n);
	AUTO_FD int loop = open(device, O_RDWR | O_CLOEXEC);
	if (loop == -1 && errno == ENOENT)
		return err_set(
		    e, E_BACKEND, "there is no %s: in a container, give it the loop devices of the host", device);
	if (loop == -1)
		return err_sys(e, "open %s", device);
	struct loop_config config = {
		.fd = (uint32_t)image,
		.block_size = BLOCK,
		.info = { .lo_flags = LO_FLAGS_AUTOCLEAR },
	};
	if (ioctl(loop, LOOP_CONFIGURE, &config) == -1)
		return err_sys(e, "LOOP_CONFIGURE of %s", device);
	return fd_take(&loop);
}

static int
loop_open(int image, char device[32], struct err *e)
{
	AUTO_FD int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int         loop = -1;

	if (control == -1)
		return err_sys(e, "no loop devices: /dev/loop-control");
	for (int i = 0; i < TRIES && loop == -1; i++) {
		errno = 0;
		loop = loop_take(control, image, device, e);
		if (loop == -1 && errno != EBUSY)
			break;
	}
	return loop;
}

static int
mount_ext4(const char *device, struct err *e)
{
	AUTO_FD int fs = sys_fsopen("ext4");

	if (fs == -1)
		return err_sys(e, "this kernel has no ext4");
	/* noinit_itable: writing zeros over the inode tables would only fill the sparse image */
	if (sys_fsconfig_set(fs, "source", device) == -1 || sys_fsconfig_flag(fs, "noinit_itable") == -1 ||
	    sys_fsconfig_create(fs) == -1)
		return err_sys(e, "mount ext4 of %s", device);
	int tree = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return tree == -1 ? err_sys(e, "mount ext4 of %s", device) : tree;
}

static int
settle(int tree, const struct disk_ask *ask, struct disk_made *made, struct err *e)
{
	struct statfs st;

	unlinkat(tree, "lost+found", AT_REMOVEDIR);
	if (fchownat(tree, "", ask->uid, ask->uid, AT_EMPTY_PATH) == -1)
		return err_sys(e, "give the workspace to uid %u", ask->uid);
	if (fstatfs(tree, &st) == -1)
		return err_sys(e, "look at the workspace");
	made->bytes = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
	made->inodes = (uint64_t)st.f_ffree;
	return 0;
}

static int
loop_make(const struct disk_ask *ask, struct disk_made *made, struct err *e)
{
	char        device[32], name[64];
	AUTO_FD int image = image_make(ask, e);

	if (image == -1)
		return -1;
	AUTO_FD int loop = loop_open(image, device, e);
	if (loop == -1)
		return -1;
	AUTO_FD int tree = mount_ext4(device, e);
	if (tree == -1) { /* a template that does not mount is of no use */
		template_name(ask, name);
		unlinkat(ask->templates, name, 0);
		return -1;
	}
	if (settle(tree, ask, made, e) == -1)
		return -1;
	made->tree = fd_take(&tree);
	return 0;
}

/* A worker may have died between making the file and taking its name away. */
static int
loop_drop(struct err *e)
{
	if (unlink(IMAGE) == -1 && errno != ENOENT)
		return err_sys(e, "remove the workspace's image");
	return 0;
}

const struct disk_mechanism disk_loop = {
	.name = "loop",
	.quota = "an ext4 file system of its own, in a file behind a loop device",
	.backend = BACKEND_LOOP,
	.counts_inodes = true,
	.make = loop_make,
	.drop = loop_drop,
};
