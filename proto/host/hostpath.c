#include "host/hostpath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "base/log.h"
#include "host/hostrules.h"
#include "host/hostview.h"

enum { STEP = O_PATH | O_NOFOLLOW | O_CLOEXEC };

struct walk {
	int      fd;             /* owned; how far we are */
	char     real[PATH_MAX]; /* its path; "" is the root */
	char     rest[PATH_MAX]; /* still to go */
	unsigned links;
};

static const char *
shown(const char *path)
{
	return log_escape(path, strlen(path));
}

/* ---- walking -------------------------------------------------------------------- */

static int
walk_to_root(struct walk *w)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root == -1)
		return -1;
	fd_close(&w->fd);
	w->fd = root;
	w->real[0] = '\0';
	return 0;
}

static int
walk_up(struct walk *w)
{
	int   up = openat(w->fd, "..", STEP | O_DIRECTORY);
	char *slash = strrchr(w->real, '/');

	if (up == -1)
		return -1;
	if (slash != NULL)
		*slash = '\0';
	fd_close(&w->fd);
	w->fd = up;
	return 0;
}

/* Put the target of the link before the rest of the path. */
static int
walk_link(struct walk *w, int link)
{
	char    target[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);

	if (n == -1)
		return -1;
	target[n] = '\0';
	errno = ELOOP;
	if (++w->links > LIM_LINKS)
		return -1;
	errno = ENAMETOOLONG;
	if (snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= (int)sizeof(rest))
		return -1;
	memcpy(w->rest, rest, strlen(rest) + 1);
	return *target == '/' ? walk_to_root(w) : 0;
}

/* Takes the descriptor of the next part. */
static int
walk_into(struct walk *w, const char *name, int *next)
{
	size_t n = strlen(w->real);

	errno = ENAMETOOLONG;
	if (snprintf(w->real + n, sizeof(w->real) - n, "/%s", name) >= (int)(sizeof(w->real) - n))
		return -1;
	fd_close(&w->fd);
	w->fd = fd_take(next);
	return 0;
}

static int
walk_down(struct walk *w, const char *name)
{
	AUTO_FD int next = openat(w->fd, name, STEP);
	struct stat st;

	if (next == -1 || fstat(next, &st) == -1)
		return -1;
	if (S_ISLNK(st.st_mode))
		return walk_link(w, next);
	return walk_into(w, name, &next);
}

/* The next part of the rest; false when the rest is empty. */
static bool
walk_next(struct walk *w, char name[NAME_MAX + 2], size_t *used)
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t      n = strcspn(p, "/");

	if (n > NAME_MAX)
		n = NAME_MAX + 1; /* too long for any file: the kernel will say so */
	memcpy(name, p, n);
	name[n] = '\0';
	*used = (size_t)(p - w->rest) + n;
	return n > 0;
}

/* To the end, or to a part that does not exist: then rest begins with it.  -1 with errno. */
static int
walk(struct walk *w)
{
	char   name[NAME_MAX + 2];
	size_t used;

	while (walk_next(w, name, &used)) {
		char kept[PATH_MAX];
		int  r = 0;

		memcpy(kept, w->rest, sizeof(kept));
		memmove(w->rest, w->rest + used, strlen(w->rest + used) + 1);
		if (strcmp(name, "..") == 0)
			r = walk_up(w);
		else if (strcmp(name, ".") != 0)
			r = walk_down(w, name);
		if (r == -1) {
			memcpy(w->rest, kept, sizeof(kept));
			return -1;
		}
	}
	return 0;
}

/* ---- making what is missing ------------------------------------------------------- */

/* Can all of the rest be made?  Not with a ".." in it. */
static bool
rest_is_plain(const struct walk *w)
{
	const char *p = w->rest;

	while ((p = strstr(p, "..")) != NULL) {
		if ((p == w->rest || p[-1] == '/') && (p[2] == '\0' || p[2] == '/'))
			return false;
		p += 2;
	}
	return true;
}

/* What the path will be when the rest is made. */
static int
path_to_be(const struct walk *w, char out[PATH_MAX])
{
	struct walk ahead = *w;
	char        name[NAME_MAX + 2];
	size_t      used, n = strlen(ahead.real);

	while (walk_next(&ahead, name, &used)) {
		memmove(ahead.rest, ahead.rest + used, strlen(ahead.rest + used) + 1);
		if (strcmp(name, ".") == 0)
			continue;
		if (n + 1 + strlen(name) >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		n += (size_t)sprintf(ahead.real + n, "/%s", name);
	}
	snprintf(out, PATH_MAX, "%s", n == 0 ? "/" : ahead.real);
	return 0;
}

/*
 * One directory further, made if it is still missing.  A link that somebody puts there meanwhile is not followed, and
 * what is not a directory is an error.
 */
static int
make_one(struct walk *w, const char *name)
{
	if (mkdirat(w->fd, name, 0755) == -1 && errno != EEXIST)
		return -1;
	AUTO_FD int next = openat(w->fd, name, STEP | O_DIRECTORY);
	if (next == -1)
		return -1;
	return walk_into(w, name, &next);
}

/* Make all that is missing, with the rights of the owner of the directory above it, and for that owner. */
static int
make_rest(struct walk *w)
{
	char        name[NAME_MAX + 2];
	size_t      used;
	struct stat st;
	int         r = 0;

	if (fstat(w->fd, &st) == -1)
		return -1;
	setfsgid(st.st_gid);
	setfsuid(st.st_uid);
	while (r == 0 && walk_next(w, name, &used)) {
		memmove(w->rest, w->rest + used, strlen(w->rest + used) + 1);
		if (strcmp(name, ".") != 0)
			r = make_one(w, name);
	}
	int why = errno;
	setfsuid(geteuid());
	setfsgid(getegid());
	errno = why;
	return r;
}

/* ---- judging ------------------------------------------------------------------------ */

/* Does the kernel report the same path for the descriptor? */
static int
same_as_kernel(const struct walk *w, const struct hostpath_ask *ask, struct err *e)
{
	char    link[64], told[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", w->fd);
	if ((n = readlink(link, told, sizeof(told) - 1)) == -1)
		return err_sys(e, "%s: where %s is", ask->field, shown(ask->path));
	told[n] = '\0';
	if (strcmp(told, *w->real == '\0' ? "/" : w->real) != 0)
		return err_set(
		    e, E_INVALID, "%s: %s was moved while it was looked at; try again", ask->field, shown(ask->path));
	return 0;
}

/* File systems that are no place for files: views of the kernel, wherever they are mounted. */
static const struct {
	unsigned long magic;
	const char   *name;
} views[] = {
	{ PROC_SUPER_MAGIC, "proc" },
	{ SYSFS_MAGIC, "sysfs" },
	{ CGROUP_SUPER_MAGIC, "cgroup" },
	{ CGROUP2_SUPER_MAGIC, "cgroup2" },
	{ DEBUGFS_MAGIC, "debugfs" },
	{ TRACEFS_MAGIC, "tracefs" },
	{ SECURITYFS_MAGIC, "securityfs" },
	{ SELINUX_MAGIC, "selinuxfs" },
	{ DEVPTS_SUPER_MAGIC, "devpts" },
	{ BPF_FS_MAGIC, "bpf" },
	{ EFIVARFS_MAGIC, "efivarfs" },
	{ NSFS_MAGIC, "nsfs" },
	{ BINFMTFS_MAGIC, "binfmt_misc" },
};

static bool
is_bounded(const struct hostpath_ask *ask)
{
	return ask->roots != NULL && ask->roots->n > 0;
}

static int
no_directory(struct err *e)
{
	return err_set(e, E_INVALID, "host_path must point to an existing directory on the host");
}

static int
check_kind(const struct hostpath *h, const struct hostpath_ask *ask, struct err *e)
{
	struct statfs fs;

	if (is_bounded(ask) && !S_ISDIR(h->st.st_mode))
		return no_directory(e);
	if (S_ISSOCK(h->st.st_mode))
		return err_set(e, E_INVALID,
		    "%s: %s is a socket, and whoever serves it would serve the sandbox; mount a directory", ask->field,
		    shown(ask->path));
	if (!S_ISDIR(h->st.st_mode) && (ask->directory_only || !S_ISREG(h->st.st_mode)))
		return err_set(e, E_INVALID, "%s: %s is not a directory%s", ask->field, shown(ask->path),
		    ask->directory_only ? "" : " and not a regular file");
	if (fstatfs(h->fd, &fs) == -1)
		return err_sys(e, "%s: the file system of %s", ask->field, shown(ask->path));
	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
		if ((unsigned long)fs.f_type == views[i].magic)
			return err_set(e, E_INVALID,
			    "%s: %s is on a %s file system, a view of the kernel; choose a directory elsewhere",
			    ask->field, shown(ask->path), views[i].name);
	return 0;
}

static int
not_there(struct hostpath *h, const struct hostpath_ask *ask, struct err *e)
{
	h->missing = errno;
	if (is_bounded(ask))
		return no_directory(e);
	if (errno != ENOENT)
		return err_set(e, E_INVALID, "%s: %s: %s", ask->field, shown(ask->path), strerror(errno));
	return err_set(e, E_INVALID, "%s: %s does not exist; make it first", ask->field, shown(ask->path));
}

/* The missing rest is made only when it is the session's own workspace, and allowed. */
static int
walk_on(struct walk *w, struct hostpath *h, const struct hostpath_ask *ask, const struct msg_worker_start *rules,
    struct err *e)
{
	char to_be[PATH_MAX];

	if (errno != ENOENT || !rest_is_plain(w) || path_to_be(w, to_be) == -1)
		return not_there(h, ask, e);
	if (hostrules_check(ask, w->fd, to_be, rules, e) == -1)
		return -1;
	errno = ENOENT;
	if (!ask->make || is_bounded(ask) || !hostrules_may_make(to_be, rules))
		return not_there(h, ask, e);
	if (make_rest(w) == -1)
		return err_set(e, E_INVALID,
		    "%s: %s cannot be made: %s; make it first, for the user it shall belong to", ask->field,
		    shown(ask->path), strerror(errno));
	log_info("made host directory %s", shown(to_be));
	return 0;
}

int
hostpath_open(struct hostpath *h, const struct hostpath_ask *ask, const struct msg_worker_start *rules, struct err *e)
{
	struct walk w = { .fd = -1 };
	int         r = -1;

	h->fd = -1;
	h->missing = 0;
	if (snprintf(w.rest, sizeof(w.rest), "%s", ask->path) >= (int)sizeof(w.rest))
		return err_set(e, E_INVALID, "%s: the path is too long", ask->field);
	if (walk_to_root(&w) == -1)
		return err_sys(e, "open /");
	if ((walk(&w) == 0 || walk_on(&w, h, ask, rules, e) == 0) && same_as_kernel(&w, ask, e) == 0) {
		snprintf(h->real, sizeof(h->real), "%s", *w.real == '\0' ? "/" : w.real);
		h->fd = fd_take(&w.fd);
		r = fstat(h->fd, &h->st) == -1 ? err_sys(e, "%s", ask->field) : 0;
	}
	if (r == 0 && (hostrules_check(ask, h->fd, h->real, rules, e) == -1 || check_kind(h, ask, e) == -1))
		r = -1;
	fd_close(&w.fd);
	if (r == -1)
		fd_close(&h->fd);
	return r;
}

/* ---- which file system ---------------------------------------------------------------- */

const char *
hostpath_fs(int fd, char name[FS_NAME])
{
	int    wanted = hostview_mount_id(fd), id;
	char  *line = NULL;
	size_t size = 0;
	FILE  *f = fopen("/proc/self/mountinfo", "re");

	snprintf(name, FS_NAME, "unknown");
	while (f != NULL && getline(&line, &size, f) != -1) {
		const char *type = strstr(line, " - ");

		if (sscanf(line, "%d", &id) == 1 && id == wanted && type != NULL)
			sscanf(type, " - %63s", name);
	}
	if (f != NULL)
		fclose(f);
	free(line);
	return name;
}
