/* What the kernel refused, in words that say whose limit it was. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "box.h"

static int
fail_full(struct err *e, int fs, const char *doing, const char *path)
{
	struct statvfs st;

	if (fs == -1 || fstatvfs(fs, &st) == -1)
		return err_set(e, E_CAPACITY, "%s %s: no space is left", doing, path);
	if (st.f_files > 0 && st.f_favail == 0)
		return err_set(e, E_CAPACITY, "%s %s: no inode is left of the %lu that the workspace may have", doing,
		    path, (unsigned long)st.f_files);
	return err_set(e, E_CAPACITY, "%s %s: the workspace is full: %lu KiB are left of %lu KiB", doing, path,
	    (unsigned long)(st.f_bavail * (st.f_frsize / KIB)), (unsigned long)(st.f_blocks * (st.f_frsize / KIB)));
}

int
fail_errno(struct err *e, int fs, const char *doing, const char *asked)
{
	const char *path = shown(log_escape(asked, strlen(asked)));

	switch (errno) {
	case ENOSPC:
		return fail_full(e, fs, doing, path);
	case EDQUOT:
		return err_set(e, E_CAPACITY, "%s %s: the quota of the workspace is used up", doing, path);
	case EFBIG:
		return err_set(e, E_CAPACITY, "%s %s: the file would be too large", doing, path);
	case ENOENT:
		return err_set(e, E_NOTFOUND, "%s is not there", path);
	case EACCES:
	case EPERM:
		return err_set(
		    e, E_DENIED, "%s %s: the sandbox itself may not do that: %s", doing, path, strerror(errno));
	case EROFS:
		return err_set(e, E_DENIED, "%s %s: it is mounted read-only", doing, path);
	case EEXIST:
		return err_set(e, E_STATE, "%s is there already", path);
	case ENOTEMPTY:
		return err_set(e, E_STATE, "%s is not empty; recursive removes it with all that is in it", path);
	case EISDIR:
		return err_set(e, E_INVALID, "%s is a directory", path);
	case EBUSY:
		return err_set(e, E_STATE, "%s %s: something is mounted there", doing, path);
	case EWOULDBLOCK:
		return err_set(e, E_BUSY, "%s %s: a process inside holds a lease on it", doing, path);
	case ENAMETOOLONG:
		return err_set(e, E_INVALID, "path: a part of %s is too long", path);
	default:
		return err_sys(e, "%s %s", doing, path);
	}
}

int
fail_not_dir(struct err *e, int dir, const char *name, const char *asked)
{
	const char *path = log_escape(asked, strlen(asked));
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		return err_set(e, E_INVALID, "%s is a symlink; symlinks are not followed", path);
	return err_set(e, E_INVALID, "%s is not a directory", path);
}
