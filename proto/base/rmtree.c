/*
 * A directory is opened without following a symlink, its entries are unlinked by name in
 * that very directory, and then it is removed by name in the one above.  Somebody inside who
 * moves directories about meanwhile can make us remove what he moved in, or miss what he
 * moved out; he cannot make us leave the mount that we were sent to.
 *
 * Another mount is never entered: what is mounted there is not the tree's own.
 *
 * How deep the tree is was decided by others, so it must cost us nothing: below LEVELS a
 * directory is moved up to the top of the tree and removed from there.
 */
#include "base/rmtree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/newfile.h"

enum { LEVELS = 32, TRIES = 16 };

struct level {
	DIR *dir;                /* owned */
	char name[NAME_MAX + 1]; /* in the level above */
};

struct sweep {
	struct rmtree *t;
	int            parent; /* borrowed; the first level is in it */
	uint64_t       mount;
	struct level   levels[LEVELS];
	size_t         depth;
};

static uint64_t
mount_of(int fd)
{
	struct statx x = { 0 };

	return statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &x) == 0 ? x.stx_mnt_id : 0;
}

static int
dir_of(const struct sweep *s, size_t level)
{
	return level == 0 ? s->parent : dirfd(s->levels[level - 1].dir);
}

/* Which one; what is deep down is not told by its whole path. */
static int
failed(struct sweep *s, const char *name)
{
	if (s->depth > 0)
		snprintf(s->t->failed, sizeof(s->t->failed), "%s%s", s->depth > 1 ? ".../" : "", name);
	return -1;
}

/* Directories that their owner closed to himself (Go's module cache, for one) are opened again. */
static int
open_for_removal(struct sweep *s, int dir, const char *name)
{
	AUTO_FD int at = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char        self[32];

	if (at == -1 || fstat(at, &st) == -1)
		return -1;
	if (mount_of(at) != s->mount) {
		errno = EBUSY;
		return -1;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	if ((st.st_mode & 0700U) != 0700U && chmod(self, st.st_mode | 0700U) == -1 && errno != EPERM)
		return -1;
	return openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int
descend(struct sweep *s, int dir, const char *name)
{
	AUTO_FD int   fd = open_for_removal(s, dir, name);
	struct level *l = &s->levels[s->depth];
	char          fresh[NEWFILE_NAME];

	if (fd == -1)
		return -1;
	if (s->depth == LEVELS) {
		snprintf(fresh, sizeof(fresh), "%s.%016lx", s->t->stem, s->t->removed);
		return renameat(dir, name, dirfd(s->levels[0].dir), fresh);
	}
	if ((l->dir = fdopendir(fd)) == NULL)
		return -1;
	fd_take(&fd);
	snprintf(l->name, sizeof(l->name), "%s", name);
	s->depth++;
	return 0;
}

/*
 * 0: gone, be it by somebody else's hand, or entered; 1: it became something else under us, look
 * again; -1 with errno.
 */
static int
remove_entry(struct sweep *s, int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || (errno == EISDIR && unlinkat(dir, name, AT_REMOVEDIR) == 0)) {
		s->t->removed++;
		return 0;
	}
	if ((errno == ENOTEMPTY || errno == EEXIST) && descend(s, dir, name) == 0)
		return 0;
	if (errno == ENOENT)
		return 0;
	return errno == ENOTDIR || errno == ELOOP || errno == EISDIR ? 1 : -1;
}

/* The directory that was read to its end; what was put into it meanwhile takes another pass. */
static int
ascend(struct sweep *s)
{
	struct level *l = &s->levels[--s->depth];
	char          name[NAME_MAX + 1];

	closedir(l->dir);
	memcpy(name, l->name, sizeof(name));
	return remove_entry(s, dir_of(s, s->depth), name);
}

static int
step(struct sweep *s)
{
	struct level *l = &s->levels[s->depth - 1];

	errno = 0;
	struct dirent *one = readdir(l->dir);
	if (one == NULL && errno == 0)
		return ascend(s) == -1 ? failed(s, l->name) : 0;
	if (one == NULL)
		return failed(s, "");
	if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
		return 0;
	/* what became something else keeps its directory from going, which is then read again */
	if (remove_entry(s, dirfd(l->dir), one->d_name) == -1)
		return failed(s, one->d_name);
	return 0;
}

int
rmtree(struct rmtree *t, int dir, const char *name)
{
	struct sweep s = { .t = t, .parent = dir, .mount = mount_of(dir) };
	uint64_t     until = span_ms() + t->most_sec * 1000;
	int          r = 1;

	t->failed[0] = '\0';
	for (int i = 0; i < TRIES && r == 1; i++)
		r = remove_entry(&s, dir, name);
	if (r != 0)
		return -1;
	while (s.depth > 0 && r == 0)
		r = t->most_sec > 0 && span_ms() > until ? 1 : step(&s);
	int code = errno;
	while (s.depth > 0)
		closedir(s.levels[--s.depth].dir);
	errno = code;
	return r;
}
