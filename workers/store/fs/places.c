#include "fs/places.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"
#include "skills/text.h"

/* ---- names to paths ---------------------------------------------------------------------- */

/* "~" and "~name" in front. */
static int
expand_home(struct span s, char out[LIM_PATH + 1], struct err *e)
{
	size_t n = 0;

	while (n < s.n && s.p[n] != '/')
		n++;
	if (s.n == 0 || s.p[0] != '~') {
		snprintf(out, LIM_PATH + 1, "%.*s", (int)s.n, s.p);
		return 0;
	}
	char user[LOGIN_NAME_MAX + 1];
	snprintf(user, sizeof(user), "%.*s", (int)n - 1, s.p + 1);
	const struct passwd *pw = *user != '\0' ? getpwnam(user) : getpwuid(geteuid());
	if (pw == NULL)
		return err_set(e, E_INVALID, "box.local: there is no home of %s", log_escape(s.p, n));
	if ((size_t)snprintf(out, LIM_PATH + 1, "%s%.*s", pw->pw_dir, (int)(s.n - n), s.p + n) > LIM_PATH)
		return err_set(e, E_INVALID, "box.local: a path is too long");
	return 0;
}

/* Symlinks resolved as far as the path exists; what is missing is added as text. */
static int
resolve(const char *path, char out[LIM_PATH + 1], struct err *e)
{
	char   front[LIM_PATH + 1], full[PATH_MAX + LIM_PATH + 2], real[PATH_MAX];
	size_t n = strlen(path);

	if (n > LIM_PATH)
		return err_set(e, E_INVALID, "box.local: a path is too long");
	memcpy(front, path, n + 1);
	while (realpath(front, real) == NULL) {
		if (errno != ENOENT && errno != ENOTDIR)
			return err_sys(e, "box.local: %s", path);
		while (n > 1 && front[n - 1] != '/')
			n--;
		while (n > 1 && front[n - 1] == '/')
			n--;
		front[n] = '\0';
	}
	snprintf(full, sizeof(full), "%s/%s", real, path + n);
	/* two slashes in front would stay two */
	if (!text_normpath(span_of(full + strspn(full, "/") - 1), out))
		return err_set(e, E_INVALID, "box.local: a path is too long");
	return 0;
}

/* A path as it was configured, relative to base. */
static int
place_find(const char *given, const char *base, char out[LIM_PATH + 1], struct err *e)
{
	char home[LIM_PATH + 1] = "", full[2 * LIM_PATH + 3];

	if (expand_home(text_strip(span_of(given)), home, e) == -1)
		return -1;
	snprintf(full, sizeof(full), "%s%s%s", *home == '/' ? "" : base, *home == '/' ? "" : "/", home);
	return resolve(full, out, e);
}

static bool
is_blank(const char *s)
{
	return text_strip(span_of(s)).n == 0;
}

/* ---- directories ------------------------------------------------------------------------- */

/* A directory that belongs to the system is no workspace. */
static int
check_place(const char *what, const char *path, struct err *e)
{
	static const char *const system[] = { "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32",
		"/proc", "/sbin", "/sys", "/usr" };

	bool bad = strcmp(path, "/") == 0;
	for (size_t i = 0; i < sizeof(system) / sizeof(*system); i++)
		bad |= path_within(path, system[i]);
	return bad ? err_set(e, E_INVALID, "box.local.%s: %s belongs to the system", what, path) : 0;
}

/* One part further: made if it is missing, for the owner of the directory it is in. */
static int
make_part(int *at, const char *part)
{
	struct stat parent;
	bool        made = mkdirat(*at, part, 0755) == 0;

	if (!made && errno != EEXIST)
		return -1;
	AUTO_FD int next = openat(*at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next == -1)
		return -1;
	if (made && geteuid() == 0 && (fstat(*at, &parent) == -1 || fchown(next, parent.st_uid, parent.st_gid) == -1))
		return -1;
	close(*at);
	*at = fd_take(&next);
	return 0;
}

/* The path is resolved: a symlink on it has been put there since, and is an error. */
static int
make_dir(const char *path, struct err *e)
{
	char        parts[LIM_PATH + 1], *rest = parts;
	AUTO_FD int at = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	snprintf(parts, sizeof(parts), "%s", path);
	for (char *part; at != -1 && (part = strsep(&rest, "/")) != NULL;)
		if (*part != '\0' && make_part(&at, part) == -1)
			return err_sys(e, "make %s", path);
	return at == -1 ? err_sys(e, "open /") : fd_take(&at);
}

/* ---- each of them ------------------------------------------------------------------------ */

static int
find_allowed(struct places *p, const struct msg_store_start *m, struct err *e)
{
	char path[LIM_PATH + 1];

	p->allowed = calloc(m->local.allowed_mount_roots.n + 2, sizeof(*p->allowed));
	if (p->allowed == NULL)
		return err_set(e, E_SYS, "no memory");
	for (size_t i = 0; i < m->local.allowed_mount_roots.n; i++) {
		if (is_blank(m->local.allowed_mount_roots.v[i]))
			continue;
		if (place_find(m->local.allowed_mount_roots.v[i], m->base, path, e) == -1 ||
		    (p->allowed[p->n_allowed] = strdup(path)) == NULL)
			return -1;
		p->n_allowed++;
	}
	if (p->n_allowed == 0 && p->host_root[0] != '\0')
		p->allowed[p->n_allowed++] = strdup(p->host_root);
	return 0;
}

static int
outside(const struct places *p, struct err *e)
{
	struct buf all = { 0 };

	for (size_t i = 0; i < p->n_allowed; i++)
		buf_printf(&all, "%s%s", i > 0 ? ", " : "", p->allowed[i]);
	err_set(e, E_INVALID, "box.local.default_workspace is outside allowed_mount_roots: %.*s", (int)all.len,
	    all.len > 0 ? all.data : "");
	buf_clear(&all);
	return -1;
}

static int
open_workspace(const struct places *p, struct err *e)
{
	const char *path = p->default_workspace;
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(
		    e, E_INVALID, "box.local.default_workspace must point to a directory on the Box runtime host");
	bool missing = stat(path, &st) == -1, allowed = !missing;
	if (missing && p->n_allowed == 0)
		return err_set(e, E_INVALID,
		    "box.local.default_workspace cannot be created because no allowed_mount_roots are configured");
	for (size_t i = 0; i < p->n_allowed; i++)
		allowed |= path_within(path, p->allowed[i]);
	if (!allowed)
		return outside(p, e);
	return check_place("default_workspace", path, e) == -1 ? -1 : make_dir(path, e);
}

/* The skills root has a home even when nothing is configured. */
static int
open_skills(struct places *p, const struct msg_store_start *m, struct err *e)
{
	char host[LIM_PATH + 1];

	if (place_find(is_blank(m->local.host_root) ? "./data/box" : m->local.host_root, m->base, host, e) == -1)
		return -1;
	if (place_find(is_blank(m->local.skills_root) ? "skills" : m->local.skills_root, host, p->skills_root, e) == -1)
		return -1;
	return check_place("skills_root", p->skills_root, e) == -1 ? -1 : make_dir(p->skills_root, e);
}

static int
find_workspace(struct places *p, const struct msg_store_start *m, struct err *e)
{
	const char *given = m->local.default_workspace;
	bool        blank = is_blank(given);

	if (blank && p->host_root[0] == '\0')
		return 0;
	return place_find(
	    blank ? "default" : given, p->host_root[0] != '\0' ? p->host_root : m->base, p->default_workspace, e);
}

int
places_open(struct places *p, struct store *st, const struct msg_store_start *m, struct err *e)
{
	*p = (struct places){ 0 };
	*st = (struct store){ .skills = -1, .workspace = -1 };
	if (!is_blank(m->local.host_root) && place_find(m->local.host_root, m->base, p->host_root, e) == -1)
		return -1;
	if (find_allowed(p, m, e) == -1 || find_workspace(p, m, e) == -1)
		return -1;
	if (p->default_workspace[0] != '\0' && (st->workspace = open_workspace(p, e)) == -1)
		return -1;
	if ((st->skills = open_skills(p, m, e)) == -1)
		return -1;
	st->paths = (struct msg_store_ready){
		.skills_root = p->skills_root,
		.host_root = p->host_root,
		.default_workspace = p->default_workspace,
		.allowed_mount_roots = { p->n_allowed, (const char **)p->allowed },
	};
	return 0;
}

int
places_owner(const struct store *st, uid_t *uid, gid_t *gid, struct err *e)
{
	struct stat s;

	if (fstat(st->skills, &s) == -1)
		return err_sys(e, "look at %s", st->paths.skills_root);
	*uid = s.st_uid;
	*gid = s.st_gid;
	return 0;
}
