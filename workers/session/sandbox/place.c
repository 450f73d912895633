#include "sandbox/place.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/mountpoint.h"
#include "sandbox/procfs.h"
#include "sandbox/shadow.h"

struct walk {
	const char *asked;
	bool        is_file; /* what shall be mounted there */
	bool        for_client;
	bool        living;             /* shadow what cannot be written */
	bool        find_only;          /* make nothing */
	int         fd;                 /* owned; how far we are */
	char        done[LIM_PATH + 1]; /* its path; "" is the root */
	char        rest[PATH_MAX];     /* still to go */
	unsigned    links;
	uint64_t    root_mount;
};

static const char *
shown(const char *path)
{
	return log_escape(path, strlen(path));
}

static int
cannot(const struct walk *w, struct err *e)
{
	if (w->find_only && errno == ENOENT)
		return err_set(e, E_INVALID, "the mount point %s is hidden by another mount; choose another place",
		    shown(w->asked));
	return err_set(e, E_INVALID,
	    "the mount point %s cannot be made inside: %s; make it in the directory that is mounted above it",
	    shown(w->asked), strerror(errno));
}

/* ---- judging ---- */

static int
check_kind(const struct walk *w, struct err *e)
{
	struct stat st;

	if (fstat(w->fd, &st) == -1)
		return cannot(w, e);
	if (S_ISDIR(st.st_mode) == w->is_file)
		return err_set(e, E_INVALID, "cannot mount on %s: it is %s in the sandbox, but the source is %s",
		    shown(w->asked), w->is_file ? "a directory" : "a file", w->is_file ? "a file" : "a directory");
	return 0;
}

/* By inode, too: a file system may have other names for these places. */
static int
check_inode(const struct walk *w, struct err *e)
{
	struct stat here, there;
	const char *place;

	if (fstat(w->fd, &here) == -1)
		return cannot(w, e);
	for (unsigned i = 0; (place = mountpoint_place(i)) != NULL; i++)
		if (lstat(place[1] == '\0' ? "." : place + 1, &there) == 0 && here.st_dev == there.st_dev &&
		    here.st_ino == there.st_ino)
			return mountpoint_check(place, shown(w->asked), e);
	return 0;
}

static int
check_place(const struct walk *w, struct err *e)
{
	const char *real = *w->done == '\0' ? "/" : w->done;

	if (mountpoint_check(real, shown(real), e) == 0 && check_inode(w, e) == 0)
		return 0;
	struct err why = *e;
	return err_set(
	    e, why.code, "the mount point %.200s leads to %.200s, and %.400s", shown(w->asked), shown(real), why.text);
}

/* ---- walking ---- */

static int
open_one(int dir, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

static int
make_one(int dir, const char *name, bool is_file)
{
	if (!is_file)
		return mkdirat(dir, name, 0755);
	AUTO_FD int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd == -1 ? -1 : 0;
}

static int
to_root(struct walk *w)
{
	fd_close(&w->fd);
	w->done[0] = '\0';
	return w->fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The next part of what is still to go; false when nothing is. */
static bool
next_part(struct walk *w, char name[NAME_MAX + 2])
{
	char  *p = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(p, "/");

	snprintf(name, NAME_MAX + 2, "%.*s", (int)n, p); /* too long for any file: the kernel will say so */
	memmove(w->rest, p + n, strlen(p + n) + 1);
	return n > 0;
}

/* What is done has no links, so its parent is what is left of the text. */
static int
step_up(struct walk *w)
{
	char  rest[PATH_MAX];
	char *slash = strrchr(w->done, '/');

	if (slash != NULL)
		*slash = '\0';
	errno = ENAMETOOLONG;
	if (snprintf(rest, sizeof(rest), "%s/%s", w->done, w->rest) >= (int)sizeof(rest))
		return -1;
	memcpy(w->rest, rest, sizeof(rest));
	return to_root(w);
}

/* Put its target before what is still to go.  A link in a mount may be a command's work, and must not choose the place. */
static int
follow(struct walk *w, int link, const char *name, struct err *e)
{
	char     target[PATH_MAX], rest[PATH_MAX];
	uint64_t mount;
	ssize_t  n = readlinkat(link, "", target, sizeof(target) - 1);

	if (n == -1 || procfs_mount(w->fd, &mount) == -1)
		return cannot(w, e);
	target[n] = '\0';
	if (mount != w->root_mount) {
		char at[LIM_PATH + NAME_MAX + 3];

		snprintf(at, sizeof(at), "%s/%s", w->done, name);
		return err_set(e, E_INVALID,
		    "the mount point %.200s: %.200s is a symbolic link, and links in a mounted directory are not "
		    "followed; "
		    "remove it, or choose another mount point",
		    shown(w->asked), shown(at));
	}
	errno = ELOOP;
	if (++w->links > LIM_LINKS)
		return cannot(w, e);
	errno = ENAMETOOLONG;
	if (snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= (int)sizeof(rest))
		return cannot(w, e);
	memcpy(w->rest, rest, sizeof(rest));
	return *target == '/' && to_root(w) == -1 ? cannot(w, e) : 0;
}

static int
shadow(struct walk *w, struct err *e)
{
	bool is_root = *w->done == '\0';
	int  top = shadow_make(w->fd, is_root, e);

	if (top == -1)
		return -1;
	fd_close(&w->fd);
	w->fd = top;
	return is_root && procfs_mount(top, &w->root_mount) == -1 ? cannot(w, e) : 0;
}

/* The next part, which is made if it is missing. */
static int
open_next(struct walk *w, const char *name, bool is_last, struct err *e)
{
	int  next = open_one(w->fd, name);
	bool is_file = w->is_file && is_last;

	if (next != -1 || errno != ENOENT || w->find_only)
		return next != -1 ? next : cannot(w, e);
	int made = make_one(w->fd, name, is_file);
	if (made == -1 && errno == EROFS && w->living) {
		if (shadow(w, e) == -1)
			return -1;
		made = make_one(w->fd, name, is_file);
	}
	next = made == -1 && errno != EEXIST ? -1 : open_one(w->fd, name);
	return next != -1 ? next : cannot(w, e);
}

static int
step_down(struct walk *w, const char *name, struct err *e)
{
	AUTO_FD int next = open_next(w, name, w->rest[strspn(w->rest, "/")] == '\0', e);
	struct stat st;
	size_t      n = strlen(w->done);

	if (next == -1)
		return -1;
	if (fstat(next, &st) == -1)
		return cannot(w, e);
	if (S_ISLNK(st.st_mode))
		return follow(w, next, name, e);
	errno = ENAMETOOLONG;
	if (snprintf(w->done + n, sizeof(w->done) - n, "/%s", name) >= (int)(sizeof(w->done) - n))
		return cannot(w, e);
	fd_close(&w->fd);
	w->fd = fd_take(&next);
	/* now, and not only at the end, so that nothing is made there either */
	return w->for_client && mountpoint_is_closed(w->done) ? check_place(w, e) : 0;
}

static int
walk(struct walk *w, struct err *e)
{
	char name[NAME_MAX + 2];

	if (to_root(w) == -1 || procfs_mount(w->fd, &w->root_mount) == -1)
		return cannot(w, e);
	while (next_part(w, name)) {
		if (strcmp(name, "..") == 0) {
			if (step_up(w) == -1)
				return cannot(w, e);
		} else if (strcmp(name, ".") != 0 && step_down(w, name, e) == -1)
			return -1;
	}
	return 0;
}

/* ---- the whole ---- */

static int
walk_finish(struct walk *w, struct err *e)
{
	snprintf(w->rest, sizeof(w->rest), "%s", w->asked); /* normal, so it fits */
	if (walk(w, e) == 0 && (!w->for_client || check_place(w, e) == 0) && (w->find_only || check_kind(w, e) == 0))
		return w->fd;
	fd_close(&w->fd);
	return -1;
}

int
place_make(const char *path, bool is_file, struct err *e)
{
	struct walk w = { .asked = path, .is_file = is_file, .fd = -1 };

	return walk_finish(&w, e);
}

int
place_make_for_client(const char *path, bool is_file, bool living, struct err *e)
{
	struct walk w = { .asked = path, .is_file = is_file, .for_client = true, .living = living, .fd = -1 };

	return walk_finish(&w, e);
}

int
place_check(const char *path, int mount, struct err *e)
{
	struct walk w = { .asked = path, .find_only = true, .fd = -1 };
	AUTO_FD int at = walk_finish(&w, e);
	uint64_t    found, wanted;

	if (at == -1)
		return -1;
	if (procfs_mount(at, &found) == -1 || procfs_mount(mount, &wanted) == -1)
		return err_sys(e, "what is mounted on %s", path);
	errno = ENOENT;
	return found == wanted ? 0 : cannot(&w, e);
}
