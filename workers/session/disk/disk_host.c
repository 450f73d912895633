/*
 * A quota on a directory of the host's.  Where its file system can keep one it is asked
 * to; it counts when it has refused something.  Otherwise the directory is watched.
 *
 * What is set on a directory of the host's stays when the session ends: the directory
 * stays too, and the next session there has the same or another limit.  A limit that boxd
 * did not set is an operator's, and never changed; the directory is then watched as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "disk/disk.h"
#include "disk/disk_proof.h"
#include "sandbox/mounts.h"

enum { SUBVOLUME_ROOT = 256 }; /* inode number of every subvolume's root directory */

static int
set_btrfs(int dir, const struct disk_limit *limit, struct err *e)
{
	struct stat   st;
	struct statfs fs;

	if (fstat(dir, &st) == -1 || fstatfs(dir, &fs) == -1)
		return err_sys(e, "look at the workspace");
	if (fs.f_type != BTRFS_SUPER_MAGIC)
		return err_set(e, E_BACKEND, "not on btrfs");
	if (st.st_ino != SUBVOLUME_ROOT)
		return err_set(e, E_BACKEND, "not a btrfs subvolume of its own");
	return btrfs_limit_host(dir, limit->bytes, e);
}

/*
 * A volume (boxctl pool), or a disk of its own: what it has not it cannot give.  Nothing is tried here, because
 * that would fill it under others who write to it.
 */
static int
find_own(int dir, const struct disk_limit *limit, struct err *e)
{
	struct statx  st;
	struct statfs fs;

	if (statx(dir, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == -1 || fstatfs(dir, &fs) == -1)
		return err_sys(e, "look at the workspace");
	if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return err_set(e, E_BACKEND, "not a file system of its own");
	uint64_t size = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
	if (size > limit->bytes)
		return err_set(e, E_BACKEND, "a file system of its own, but of %lu MiB", size / MIB);
	return 0;
}

static const struct {
	const char *quota;
	bool        counts_inodes;
	bool        is_set; /* to be proved, therefore */
	int (*set)(int dir, const struct disk_limit *, struct err *);
} kernels[] = {
	{ "the size of its own file system", true, false, find_own },
	{ "the quota group of its btrfs subvolume", false, true, set_btrfs },
	{ "a project quota of its file system", true, true, project_limit },
};

/* The one that keeps it, and proved so; -1 and why none does. */
static int
find_kernel(int dir, const struct disk_limit *limit, struct err *why)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
		struct err e = { 0 };
		size_t     used = strlen(why->text);

		if (kernels[i].set(dir, limit, &e) == 0 &&
		    (!kernels[i].is_set || disk_prove(dir, limit->bytes, &e) == 0))
			return (int)i;
		snprintf(why->text + used, sizeof(why->text) - used, "%s%.300s", used > 0 ? "; " : "", e.text);
	}
	return -1;
}

static int
tell_watched(struct disk *d, struct msg_disk *reported, const char *why, struct err *e)
{
	struct buf quota = { 0 };

	buf_printf(&quota, "a watcher, before, while and after a command runs; no kernel quota: %s", why);
	buf_append(&quota, "", 1);
	reported->quota = quota.failed ? "a watcher" : quota.data;
	int r = disk_remember(d, reported, e);
	buf_clear(&quota);
	return r;
}

static int
set_limit(struct disk *d, struct msg_disk *reported, const struct msg_worker_start *s, int workspace, struct err *e)
{
	const struct disk_limit limit = { s->spec.workspace_quota_mb * MIB, s->entries };
	struct err              why = { .text = "" };
	AUTO_FD int             dir = openat(workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t                since = span_us();

	if (dir == -1)
		return err_sys(e, "open the workspace");
	if (s->uid_count == 1)
		err_set(&why, E_BACKEND, "boxd is not root");
	int k = s->uid_count == 1 ? -1 : find_kernel(dir, &limit, &why);
	reported->limit_bytes = limit.bytes;
	reported->limit_inodes = limit.entries;
	reported->setup_us = span_us() - since;
	if (k == -1)
		return tell_watched(d, reported, why.text, e);
	reported->quota = kernels[k].quota;
	reported->hard_bytes = true;
	reported->hard_inodes = kernels[k].counts_inodes;
	if (!kernels[k].counts_inodes)
		reported->limit_inodes = 0;
	return disk_remember(d, reported, e);
}

int
disk_host(struct disk *d, const struct msg_worker_start *s, int workspace, struct err *e)
{
	struct msg_disk reported = { .workspace = "host", .quota = "none" };

	if (s->spec.host_path_mode == MOUNT_RO) {
		reported.quota = "read-only";
		return disk_remember(d, &reported, e);
	}
	if (s->spec.workspace_quota_mb == 0)
		return disk_remember(d, &reported, e);
	return set_limit(d, &reported, s, workspace, e);
}

static int
show_extra(struct disk *d, size_t extra, struct err *e)
{
	struct buf quota = { 0 };

	buf_printf(&quota, "%s; a watcher for what is in %zu writable extra mounts%s", d->reported.quota, extra,
	    d->watches_host ? " too" : "");
	buf_append(&quota, "", 1);
	if (!quota.failed)
		d->shown.quota = quota.data;
	int r = owned_msg_copy(&d->shown_kept, MSG_DISK, &d->shown, e);
	buf_clear(&quota);
	return r;
}

int
disk_watch(struct disk *d, const struct msg_worker_start *s, size_t extra, struct err *e)
{
	d->shown = d->reported;
	d->quota = (struct disk_limit){ s->spec.workspace_quota_mb * MIB, s->entries };
	d->watches_host = !mounts_private(&s->spec) && d->reported.limit_bytes > 0 && !d->reported.hard_bytes;
	if (!d->watches_host && extra == 0)
		return 0;
	d->watched = d->quota;
	return extra == 0 ? 0 : show_extra(d, extra, e);
}
