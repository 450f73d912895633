#include "image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "host/loopfs.h"

enum {
	LOOP_MAJOR = 7,
	PER_INODE = 16384, /* bytes, ext4's default */
	LEAST_PER_INODE = 2048,
};

/* A journal, other than in a session's private workspace: this outlives the machine's power. */
static int
mkfs(int image, uint64_t size_mb, uint64_t inodes, struct err *e)
{
	static char features[] = "has_journal,^resize_inode,extent,flex_bg,metadata_csum,huge_file,dir_nlink,"
				 "extra_isize,sparse_super,large_file,filetype,dir_index,ext_attr,64bit";
	char        path[64], count[24];
	char    *argv[] = { "mkfs.ext4", "-q", "-F", "-b", "4096", "-I", "256", "-m", "0", "-N", count, "-O", features,
		   "-E", "lazy_itable_init=1,nodiscard,root_owner=0:0", path, NULL };
	uint64_t most = size_mb * MIB / LEAST_PER_INODE;

	if (inodes == 0)
		inodes = size_mb * MIB / PER_INODE;
	snprintf(count, sizeof(count), "%lu", inodes < most ? inodes : most);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), image);
	return loopfs_mkfs(argv, e);
}

/* Looked at before it is taken: taking more than there is would fill the disk for everybody until it is given back. */
static int
take_space(int image, uint64_t size_mb, struct err *e)
{
	struct statfs st;

	if (fstatfs(image, &st) == -1)
		return err_sys(e, "look at the pool directory");
	uint64_t free_mb = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize / MIB;
	if (free_mb < size_mb)
		return err_set(
		    e, E_SYS, "No space left for a volume of %lu MiB: the pool directory has %lu", size_mb, free_mb);
	if (fallocate(image, 0, 0, (off_t)(size_mb * MIB)) == -1)
		return err_sys(e, "take %lu MiB in the pool directory", size_mb);
	return 0;
}

int
image_make(int pool, uint64_t size_mb, uint64_t inodes, struct newfile *file, struct err *e)
{
	AUTO_FD int dir = openat(pool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir == -1 || newfile_open(file, dir, -1, ".image.", 0600) == -1)
		return err_sys(e, "make an image in the pool directory");
	fd_take(&dir);
	if (take_space(file->fd, size_mb, e) == 0 && mkfs(file->fd, size_mb, inodes, e) == 0)
		return 0;
	newfile_drop(file);
	return -1;
}

int
image_mount(int image, struct err *e)
{
	char        device[32];
	AUTO_FD int loop = loopfs_attach(image, device, e);

	return loop == -1 ? -1 : loopfs_mount(device, e);
}

static bool
backs(int image, unsigned minor)
{
	struct loop_info64 info;
	struct stat        st;
	char               device[32];

	snprintf(device, sizeof(device), "/dev/loop%u", minor);
	AUTO_FD int loop = open(device, O_RDONLY | O_CLOEXEC);
	return loop != -1 && ioctl(loop, LOOP_GET_STATUS64, &info) == 0 && fstat(image, &st) == 0 &&
	       info.lo_inode == st.st_ino && info.lo_device == st.st_dev;
}

int
image_is_at(int image, int dir, const char *path, struct err *e)
{
	struct statx st;

	if (statx(dir, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == -1)
		return err_sys(e, "look at %s", path);
	if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	if (image != -1 && st.stx_dev_major == LOOP_MAJOR && backs(image, st.stx_dev_minor))
		return 1;
	return err_set(e, E_CONFLICT, "something else is mounted at %s", path);
}
