#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { TRIES = 16 }; /* of random names; two that are the same have never been seen */

static void
temp_name(char out[NEWFILE_NAME], const char *stem)
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) == -1)
		n = (uint64_t)getpid() << 32 | (uintptr_t)out;
	snprintf(out, NEWFILE_NAME, "%s.%016lx", stem, n);
}

/* Names cannot be moved from one mount to another. */
static bool
same_mount(int a, int b)
{
	struct statx x = { 0 }, y = { 0 };

	return statx(a, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) == 0 &&
	       statx(b, "", AT_EMPTY_PATH, STATX_MNT_ID, &y) == 0 && x.stx_mnt_id == y.stx_mnt_id;
}

/* Does another place help?  The spare one may be closed to us or have another quota. */
static bool
is_about_place(int code)
{
	return code == EXDEV || code == EROFS || code == EACCES || code == EPERM || code == EDQUOT;
}

static int
named_open(struct newfile *f, int at, mode_t mode)
{
	for (int i = 0; i < TRIES; i++) {
		temp_name(f->temp, f->stem);
		f->fd = openat(at, f->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (f->fd != -1 || errno != EEXIST)
			break;
	}
	if (f->fd == -1)
		f->temp[0] = '\0';
	f->at = at;
	return f->fd == -1 ? -1 : 0;
}

int
newfile_open(struct newfile *f, int dir, int spare, const char *stem, mode_t mode)
{
	*f = (struct newfile){ .fd = -1, .dir = -1, .spare = spare, .at = -1 };
	snprintf(f->stem, sizeof(f->stem), "%s", stem);
	if (spare != -1 && !same_mount(dir, spare))
		f->spare = -1;
	f->fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	/* EISDIR: a kernel that does not know the flag */
	if (f->fd == -1 && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -1;
	if (f->fd == -1 && (f->spare == -1 || named_open(f, f->spare, mode) == -1) && named_open(f, dir, mode) == -1)
		return -1;
	f->dir = dir;
	return 0;
}

/* Its first name, which must be free. */
static int
link_as(const struct newfile *f, int at, const char *name)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	return linkat(AT_FDCWD, self, at, name, AT_SYMLINK_FOLLOW);
}

static int
link_temp(struct newfile *f, int at)
{
	int r = -1;

	for (int i = 0; i < TRIES && r == -1; i++) {
		temp_name(f->temp, f->stem);
		r = link_as(f, at, f->temp);
		if (r == -1 && errno != EEXIST)
			break;
	}
	if (r == -1)
		f->temp[0] = '\0';
	f->at = at;
	return r;
}

static void
temp_unlink(struct newfile *f)
{
	int code = errno;

	if (f->temp[0] != '\0')
		unlinkat(f->at, f->temp, 0);
	f->temp[0] = '\0';
	errno = code;
}

static int
temp_rename(struct newfile *f, const char *name)
{
	if (renameat(f->at, f->temp, f->dir, name) == -1) {
		temp_unlink(f);
		return -1;
	}
	f->temp[0] = '\0';
	return 0;
}

static int
commit(struct newfile *f, const char *name)
{
	if (f->temp[0] != '\0')
		return temp_rename(f, name);
	if (link_as(f, f->dir, name) == 0)
		return 0;
	if (errno != EEXIST)
		return -1;
	if (f->spare != -1 && link_temp(f, f->spare) == 0 && temp_rename(f, name) == 0)
		return 0;
	if (f->spare != -1 && !is_about_place(errno))
		return -1;
	return link_temp(f, f->dir) == 0 ? temp_rename(f, name) : -1;
}

int
newfile_commit(struct newfile *f, const char *name)
{
	int r = commit(f, name), code = errno;

	newfile_drop(f);
	errno = code;
	return r;
}

int
newfile_symlink(int dir, const char *stem, const char *target, const char *name)
{
	struct newfile f = { .fd = -1, .dir = dir, .at = dir };

	for (int i = 0; i < TRIES; i++) {
		temp_name(f.temp, stem);
		if (symlinkat(target, dir, f.temp) == 0)
			return temp_rename(&f, name);
		if (errno != EEXIST)
			break;
	}
	return -1;
}

void
newfile_drop(struct newfile *f)
{
	temp_unlink(f);
	fd_close(&f->fd);
	fd_close(&f->dir);
}
