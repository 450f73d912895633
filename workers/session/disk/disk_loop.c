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
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "disk/disk.h"
#include "host/loopfs.h"

#define IMAGE "workspace.img"

enum {
	INODE = 256,       /* bytes in the inode table, ext4's default */
	RESERVED = 11,     /* inodes ext4 keeps, lost+found among them */
	PER_INODE = 16384, /* a large workspace has at least one inode for this many bytes, ext4's default */
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

/*
 * No journal: nothing of it shall outlive the machine.  The kernel takes inode tables
 * that were never written for empty.
 */
static int
mkfs(int image, const struct disk_ask *ask, struct err *e)
{
	static char features[] = "^has_journal,^resize_inode,extent,flex_bg,uninit_bg,huge_file,dir_nlink,"
				 "sparse_super,large_file,filetype,dir_index,ext_attr,64bit";
	char        inodes[24];
	char *argv[] = { "mkfs.ext4", "-q", "-F", "-b", "4096", "-I", "256", "-m", "0", "-N", inodes, "-O", features,
		"-E", "lazy_itable_init=1,nodiscard,root_owner=0:0", IMAGE, NULL };

	if (ftruncate(image, (off_t)image_bytes(ask)) == -1)
		return err_sys(e, "make a file of %lu MiB for the workspace", image_bytes(ask) / MIB);
	snprintf(inodes, sizeof(inodes), "%lu", inodes_of(ask));
	return loopfs_mkfs(argv, e);
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
	AUTO_FD int loop = loopfs_attach(image, device, e);
	if (loop == -1)
		return -1;
	AUTO_FD int tree = loopfs_mount(device, e);
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
