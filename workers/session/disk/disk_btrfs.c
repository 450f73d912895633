/*
 * A private workspace as a btrfs subvolume beside the session's state, with a limit on
 * its own quota group.  Only where quotas are switched on already: that is a decision for
 * the whole file system, and its owner's to make.
 *
 * The limit is proved on every new subvolume: set low, hit, then set as asked for.  A
 * quota group counts metadata too, so files are bounded by the bytes they take, but not
 * by number.  A subvolume made inside would have no limit; the seccomp filter refuses to
 * make any.
 */
#include <endian.h>
#include <errno.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/sys.h"
#include "disk/disk.h"
#include "disk/disk_proof.h"

#define SUBVOLUME "workspace"

/* Exclusive bytes are referenced too, so the second limit adds nothing; it marks a limit as ours. */
#define OUR_LIMITS (BTRFS_QGROUP_LIMIT_MAX_RFER | BTRFS_QGROUP_LIMIT_MAX_EXCL)

int
btrfs_limit(int subvolume, uint64_t bytes, struct err *e)
{
	struct btrfs_ioctl_qgroup_limit_args args = {
		.qgroupid = 0, /* the subvolume's own */
		.lim = { .flags = OUR_LIMITS, .max_rfer = bytes, .max_excl = bytes },
	};

	if (ioctl(subvolume, BTRFS_IOC_QGROUP_LIMIT, &args) == 0)
		return 0;
	if (errno == ENOTCONN || errno == EINVAL || errno == ENOENT)
		return err_set(
		    e, E_BACKEND, "quotas are off on this btrfs; its owner can run: btrfs quota enable --simple");
	return err_sys(e, "limit a btrfs subvolume");
}

/* The limits of a subvolume's own quota group; all 0 when it has none. */
static int
limit_read(int subvolume, struct btrfs_qgroup_limit_item *item, struct err *e)
{
	struct btrfs_ioctl_ino_lookup_args self = { .objectid = BTRFS_FIRST_FREE_OBJECTID };
	struct btrfs_ioctl_search_args     search = { .key = { .tree_id = BTRFS_QUOTA_TREE_OBJECTID,
							  .min_type = BTRFS_QGROUP_LIMIT_KEY,
							  .max_type = BTRFS_QGROUP_LIMIT_KEY,
							  .max_transid = UINT64_MAX,
							  .nr_items = 1 } };

	memset(item, 0, sizeof(*item));
	if (ioctl(subvolume, BTRFS_IOC_INO_LOOKUP, &self) == -1)
		return err_sys(e, "find the number of a btrfs subvolume");
	search.key.min_offset = search.key.max_offset = self.treeid;
	if (ioctl(subvolume, BTRFS_IOC_TREE_SEARCH, &search) == -1)
		return errno == ENOENT ? 0 : err_sys(e, "read the limit of a btrfs subvolume"); /* quotas are off */
	if (search.key.nr_items == 1)
		memcpy(item, search.buf + sizeof(struct btrfs_ioctl_search_header), sizeof(*item));
	return 0;
}

/* On disk: little endian. */
static bool
is_ours(const struct btrfs_qgroup_limit_item *item)
{
	return (le64toh(item->flags) & OUR_LIMITS) == OUR_LIMITS && item->max_rfer == item->max_excl;
}

int
btrfs_limit_host(int subvolume, uint64_t bytes, struct err *e)
{
	struct btrfs_qgroup_limit_item item;

	if (limit_read(subvolume, &item, e) == -1)
		return -1;
	if (item.flags != 0 && !is_ours(&item))
		return err_set(e, E_BACKEND, "its btrfs subvolume has a limit that boxd did not set, which stays");
	return btrfs_limit(subvolume, bytes, e);
}

static int
subvolume_make(int dir, struct err *e)
{
	struct btrfs_ioctl_vol_args args = { .name = SUBVOLUME };

	if (ioctl(dir, BTRFS_IOC_SUBVOL_CREATE, &args) == -1)
		return err_sys(e, "make a btrfs subvolume");
	int fd = openat(dir, SUBVOLUME, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd == -1 ? err_sys(e, "open a btrfs subvolume") : fd;
}

static int
subvolume_destroy(int dir)
{
	struct btrfs_ioctl_vol_args args = { .name = SUBVOLUME };

	return ioctl(dir, BTRFS_IOC_SNAP_DESTROY, &args);
}

static int
subvolume_bound(int subvolume, const struct disk_ask *ask, struct err *e)
{
	if (btrfs_limit(subvolume, DISK_PROOF_LIMIT, e) == -1 || disk_prove(subvolume, DISK_PROOF_LIMIT, e) == -1 ||
	    btrfs_limit(subvolume, ask->bytes, e) == -1)
		return -1;
	if (fchown(subvolume, ask->uid, ask->uid) == -1 || fchmod(subvolume, 0755) == -1)
		return err_sys(e, "give the workspace to uid %u", ask->uid);
	return 0;
}

static int
subvolume_mount(int subvolume, struct err *e)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, .propagation = MS_PRIVATE };
	AUTO_FD int       tree = sys_open_tree(subvolume, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	if (tree == -1 || sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr) == -1)
		return err_sys(e, "mount a btrfs subvolume");
	return fd_take(&tree);
}

static int
btrfs_make(const struct disk_ask *ask, struct disk_made *made, struct err *e)
{
	AUTO_FD int   dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (dir == -1 || fstatfs(dir, &st) == -1)
		return err_sys(e, "look at the state directory");
	if (st.f_type != BTRFS_SUPER_MAGIC)
		return err_set(e, E_BACKEND, "the state directory is not on btrfs");
	AUTO_FD int subvolume = subvolume_make(dir, e);
	if (subvolume == -1)
		return -1;
	if (subvolume_bound(subvolume, ask, e) == -1 || (made->tree = subvolume_mount(subvolume, e)) == -1) {
		subvolume_destroy(dir);
		return -1;
	}
	made->bytes = ask->bytes;
	made->inodes = 0;
	return 0;
}

/* Deleting a subvolume takes a right that the worker gave up when the sandbox stood. */
static int
btrfs_drop(struct err *e)
{
	AUTO_FD int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir == -1)
		return err_sys(e, "open the state directory");
	if (fstatat(dir, SUBVOLUME, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno == ENOENT ? 0 : err_sys(e, "look at the workspace");
	if (subvolume_destroy(dir) == 0)
		return 0;
	return errno == EPERM ? 1 : err_sys(e, "remove the workspace's subvolume");
}

const struct disk_mechanism disk_btrfs = {
	.name = "btrfs",
	.quota = "the quota group of a btrfs subvolume of its own",
	.backend = BACKEND_BTRFS,
	.counts_inodes = false,
	.make = btrfs_make,
	.drop = btrfs_drop,
};
