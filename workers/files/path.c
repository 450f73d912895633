/*
 * A path is walked part by part from the workspace's own descriptor, and no part may
 * be a symlink: so whatever is moved or swapped meanwhile, a walk ends beneath the
 * workspace or not at all.  ".." is refused, because where it leads can be changed.
 *
 * Mounts inside the workspace are entered: they were asked for when the session was
 * made, and the rights are the sandbox's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "box.h"

enum { DIR_FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

const char *
shown(const char *clean)
{
	return *clean == '\0' ? "the workspace" : clean;
}

/* Behind the workspace's own path, when that is what an absolute one begins with; else NULL. */
static const char *
behind(const char *workspace, const char *asked)
{
	size_t n = strlen(workspace);

	while (n > 0 && workspace[n - 1] == '/')
		n--;
	if (strncmp(asked, workspace, n) != 0 || (asked[n] != '/' && asked[n] != '\0'))
		return NULL;
	return asked + n;
}

int
path_clean(const char *workspace, const char *asked, char out[LIM_PATH + 1], struct err *e)
{
	const char *p = asked[0] == '/' ? behind(workspace, asked) : asked;
	size_t      used = 0;

	if (p == NULL)
		return err_set(e, E_INVALID, "path: %s is not beneath %s", log_escape(asked, strlen(asked)), workspace);
	while (*p != '\0') {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return err_set(e, E_INVALID, "path: %s has a '..' in it", log_escape(asked, strlen(asked)));
		if (n > NAME_MAX || used + n + 1 > LIM_PATH)
			return err_set(
			    e, E_INVALID, "path: a part of %s is too long", log_escape(asked, strlen(asked)));
		if (n > 0 && !(n == 1 && p[0] == '.')) {
			if (used > 0)
				out[used++] = '/';
			memcpy(out + used, p, n);
			used += n;
		}
		p += n + (p[n] == '/');
	}
	out[used] = '\0';
	return 0;
}

/* The part at p, as a string; the next one, or the end. */
static const char *
take_part(const char *p, char part[NAME_MAX + 1])
{
	size_t n = strcspn(p, "/");

	memcpy(part, p, n);
	part[n] = '\0';
	return p + n + (p[n] == '/');
}

/* One part further; the directory before it is closed. */
static int
step(int *at, const char *part, const char *path, struct err *e)
{
	int next = openat(*at, part, DIR_FLAGS);

	if (next == -1)
		return errno == ENOTDIR || errno == ELOOP ? fail_not_dir(e, *at, part, path)
							  : fail_errno(e, *at, "open", path);
	close(*at);
	*at = next;
	return 0;
}

/* Up to where end points into it. */
static int
walk(int root, const char *clean, const char *end, struct err *e)
{
	AUTO_FD int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
	char        part[NAME_MAX + 1], so_far[LIM_PATH + 1];

	if (at == -1)
		return fail_errno(e, -1, "open", clean);
	for (const char *p = clean; p < end;) {
		const char *next = take_part(p, part);
		size_t      n = (size_t)(p - clean) + strlen(part);

		memcpy(so_far, clean, n);
		so_far[n] = '\0';
		if (step(&at, part, so_far, e) == -1)
			return -1;
		p = next;
	}
	return fd_take(&at);
}

int
path_open_dir(int root, const char *clean, struct err *e)
{
	return walk(root, clean, clean + strlen(clean), e);
}

int
path_open_parent(int root, const char *clean, const char **last, struct err *e)
{
	const char *slash = strrchr(clean, '/');

	if (*clean == '\0')
		return err_set(e, E_INVALID, "path: this is the workspace itself");
	*last = slash != NULL ? slash + 1 : clean;
	return walk(root, clean, slash != NULL ? slash : clean, e);
}
