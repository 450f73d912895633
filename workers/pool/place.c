#include "place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"

enum { STEP = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* New directories look like the one they are made in. */
static int
step(int *at, const char *part, bool make, const char *path, struct err *e)
{
	AUTO_FD int next = openat(*at, part, STEP);

	if (next == -1 && errno == ENOENT && make) {
		struct stat like;

		if (fstat(*at, &like) == -1 || (mkdirat(*at, part, like.st_mode & 0777) == -1 && errno != EEXIST))
			return err_sys(e, "make %s on the way to %s", part, path);
		if ((next = openat(*at, part, STEP)) != -1 &&
		    fchownat(next, "", like.st_uid, like.st_gid, AT_EMPTY_PATH) == -1)
			return err_sys(e, "give %s to its owner", path);
	}
	if (next == -1 && (errno == ENOTDIR || errno == ELOOP))
		return err_set(e, E_INVALID, "%s: %s is a symlink, or no directory", path, part);
	if (next == -1)
		return err_sys(e, "open %s of %s", part, path);
	fd_close(at);
	*at = fd_take(&next);
	return 0;
}

/* To the parent of the last part. */
static int
walk(struct place *p, bool make, struct err *e)
{
	char  rest[LIM_PATH + 1];
	char *part = rest + 1, *slash;

	memcpy(rest, p->path, sizeof(rest));
	if ((p->parent = open("/", STEP)) == -1)
		return err_sys(e, "open /");
	for (; (slash = strchr(part, '/')) != NULL; part = slash + 1) {
		*slash = '\0';
		if (step(&p->parent, part, make, p->path, e) == -1)
			return -1;
	}
	return 0;
}

int
place_open(struct place *p, const char *path, bool make, struct err *e)
{
	p->parent = p->dir = -1;
	if (!path_normal(path, p->path) || p->path[1] == '\0')
		return err_set(e, E_INVALID, "%s is no absolute path of a directory", path);
	if (walk(p, make, e) == -1)
		return -1;
	return place_again(p, e);
}

int
place_again(struct place *p, struct err *e)
{
	fd_close(&p->dir);
	p->dir = openat(p->parent, place_name(p), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->dir == -1 && (errno == ENOTDIR || errno == ELOOP))
		return err_set(e, E_INVALID, "%s is a symlink, or no directory", p->path);
	return p->dir == -1 && errno != ENOENT ? err_sys(e, "open %s", p->path) : 0;
}

void
place_close(struct place *p)
{
	fd_close(&p->dir);
	fd_close(&p->parent);
}

const char *
place_name(const struct place *p)
{
	return strrchr(p->path, '/') + 1;
}

int
place_make(struct place *p, const struct stat *like, struct err *e)
{
	if (mkdirat(p->parent, place_name(p), 0700) == -1)
		return err_sys(e, "make %s", p->path);
	if (place_again(p, e) == -1)
		return -1;
	if (p->dir == -1 || fchown(p->dir, like->st_uid, like->st_gid) == -1 ||
	    fchmod(p->dir, like->st_mode & 0777) == -1)
		return err_sys(e, "give %s to its owner", p->path);
	return 0;
}

/* Every entry to fn, until it returns not 0; that. */
static int
each_entry(int dir, int (*fn)(int dir, const char *name, struct err *), struct err *e)
{
	int            fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *d = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int            r = 0;

	if (d == NULL) {
		err_sys(e, "read a directory");
		fd_close(&fd);
		return -1;
	}
	while (r == 0 && (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = fn(dir, entry->d_name, e);
	closedir(d);
	return r;
}

static int
is_there(int dir, const char *name, struct err *e)
{
	return 1;
}

int
dir_is_empty(int dir, struct err *e)
{
	int r = each_entry(dir, is_there, e);

	return r == -1 ? -1 : r == 0;
}

static int
remove_one(int dir, const char *name, struct err *e)
{
	return unlinkat(dir, name, 0) == -1 ? err_sys(e, "remove %s", name) : 0;
}

int
dir_empty(int dir, struct err *e)
{
	return each_entry(dir, remove_one, e);
}
