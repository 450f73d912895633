#include "workdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"

enum { STEP = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

struct walk {
	int      fd;             /* owned; how far we are */
	char     rest[PATH_MAX]; /* still to go */
	unsigned links;
};

static int
move_to(struct walk *w, int next)
{
	if (next == -1)
		return -1;
	fd_close(&w->fd);
	w->fd = next;
	return 0;
}

/* Put the target of this link before what is still to go; -1 with ENOTDIR: it is no link, and no directory either. */
static int
follow(struct walk *w, const char *name)
{
	char          target[PATH_MAX], rest[PATH_MAX];
	struct statfs fs;
	ssize_t       n = readlinkat(w->fd, name, target, sizeof(target) - 1);

	if (n == -1)
		errno = errno == EINVAL ? ENOTDIR : errno;
	if (n == -1 || fstatfs(w->fd, &fs) == -1)
		return -1;
	target[n] = '\0';
	errno = ELOOP;
	if (fs.f_type == PROC_SUPER_MAGIC || ++w->links > LIM_LINKS)
		return -1;
	errno = ENAMETOOLONG;
	if (snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= (int)sizeof(rest))
		return -1;
	strcpy(w->rest, rest);
	return *target == '/' ? move_to(w, open("/", STEP)) : 0;
}

static int
step(struct walk *w, const char *name)
{
	int next = openat(w->fd, name, STEP);

	if (next == -1 && errno == ENOENT && (mkdirat(w->fd, name, 0755) == 0 || errno == EEXIST))
		next = openat(w->fd, name, STEP);
	if (next == -1 && errno == ENOTDIR)
		return follow(w, name);
	return move_to(w, next);
}

/* Cut the next part off the rest of the path; false: no part is left. */
static bool
next_part(struct walk *w, char name[NAME_MAX + 2])
{
	char  *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	snprintf(
	    name, NAME_MAX + 2, "%.*s", (int)n, p); /* what is too long stays too long, and the kernel refuses it */
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return n > 0;
}

static int
walk(const char *path)
{
	struct walk w = { .fd = open("/", STEP) };
	char        name[NAME_MAX + 2];
	int         r = w.fd == -1 ? -1 : 0;

	if (snprintf(w.rest, sizeof(w.rest), "%s", path) >= (int)sizeof(w.rest)) {
		errno = ENAMETOOLONG;
		r = -1;
	}
	while (r == 0 && next_part(&w, name))
		r = step(&w, name);
	int why = errno;
	if (r == -1)
		fd_close(&w.fd);
	errno = why;
	return w.fd;
}

/* Mostly it is a directory in the root, such as /workspace, and there is nothing to walk. */
int
workdir_open(const char *path)
{
	bool is_short = *path == '/' && strchr(path + 1, '/') == NULL;
	int  fd = is_short ? open(path, STEP) : -1;

	return fd == -1 ? walk(path) : fd;
}
