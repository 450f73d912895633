#include "host/hostview.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/path.h"

/* One line of mountinfo: the directory root of file system dev is seen at a path. */
struct entry {
	int      id;
	unsigned major, minor;
	char    *root, *at; /* owned */
};

struct table {
	struct entry *v; /* owned */
	size_t        n, room;
};

/* ---- the mount table ---- */

/* Blanks, tabs, newlines and backslashes are written as \ooo. */
static void
unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
		    s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else
			*to++ = *s;
	}
	*to = '\0';
}

/* -1: no memory.  A line that cannot be read is left out. */
static int
table_add(struct table *t, const char *line)
{
	struct entry e = { 0 };

	if (sscanf(line, "%d %*d %u:%u %ms %ms", &e.id, &e.major, &e.minor, &e.root, &e.at) != 5) {
		free(e.root);
		return 0;
	}
	unescape(e.root);
	unescape(e.at);
	if (t->n == t->room) {
		size_t        room = t->room == 0 ? 64 : 2 * t->room;
		struct entry *v = reallocarray(t->v, room, sizeof(*v));

		if (v == NULL) {
			free(e.root);
			free(e.at);
			return -1;
		}
		t->v = v;
		t->room = room;
	}
	t->v[t->n++] = e;
	return 0;
}

static void
table_clear(struct table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].root);
		free(t->v[i].at);
	}
	free(t->v);
	*t = (struct table){ 0 };
}

static int
table_parse(struct table *t, struct buf *text)
{
	int r = 0;

	for (char *line = text->data, *end; r == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		r = table_add(t, line);
		*end = '\n';
	}
	return r;
}

/* All of it, with a NUL behind. */
static int
read_text(const char *path, struct buf *b)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t     n = fd == -1 ? -1 : 1;

	while (n > 0 && buf_reserve(b, 16 * KIB) == 0 && (n = read(fd, b->data + b->len, 16 * KIB - 1)) > 0)
		b->len += (size_t)n;
	if (n == 0)
		b->data[b->len] = '\0';
	return n == 0 ? 0 : -1;
}

/* As it is now.  Most often it is as it was last: then it is not taken apart once more. */
static const struct table *
table_now(struct err *e)
{
	static struct table table;
	static struct buf   last;
	struct buf          text = { 0 };

	if (read_text("/proc/self/mountinfo", &text) == -1) {
		err_sys(e, "read /proc/self/mountinfo");
		return NULL;
	}
	if (text.len == last.len && memcmp(text.data, last.data, text.len) == 0) {
		buf_clear(&text);
		return &table;
	}
	table_clear(&table);
	buf_clear(&last);
	last = text;
	if (table_parse(&table, &last) == 0)
		return &table;
	buf_clear(&last);
	err_set(e, E_SYS, "no memory for the mount table");
	return NULL;
}

void
hostview_ahead(void)
{
	struct err ignored;

	table_now(&ignored);
}

int
hostview_mount_id(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) == -1 || !(st.stx_mask & STATX_MNT_ID))
		return -1;
	return (int)st.stx_mnt_id;
}

/* ---- names ---- */

/* Of path, which is in dir: the part behind dir, with its slash in front, or "". */
static const char *
rest_of(const char *path, const char *dir)
{
	const char *rest = path + (strcmp(dir, "/") == 0 ? 0 : strlen(dir));

	return strcmp(rest, "/") == 0 ? "" : rest;
}

/* dir with the rest behind it; NULL: no memory. */
static char *
joined(const char *dir, const char *rest)
{
	char *path = NULL;

	if (asprintf(&path, "%s%s", strcmp(dir, "/") == 0 && *rest != '\0' ? "" : dir, rest) == -1)
		return NULL;
	return path;
}

/* Takes the path. */
static int
name_add(struct hostview *h, char *path, const char *mount, bool inside)
{
	for (size_t i = 0; path != NULL && i < h->n; i++)
		if (strcmp(h->v[i].path, path) == 0 && h->v[i].inside <= inside) {
			free(path);
			return 0;
		}
	if (path != NULL && h->n == h->room) {
		size_t           room = h->room == 0 ? 8 : 2 * h->room;
		struct hostname *v = reallocarray(h->v, room, sizeof(*v));

		h->v = v != NULL ? v : h->v;
		h->room = v != NULL ? room : h->room;
	}
	char *at = strdup(mount);
	if (path == NULL || at == NULL || h->n == h->room) {
		free(path);
		free(at);
		return -1;
	}
	h->v[h->n++] = (struct hostname){ path, at, inside };
	return 0;
}

/* Wherever this directory of a file system is seen, and what of it is. */
static int
add_region(struct hostview *h, const struct table *t, const struct entry *of, const char *dir, bool inside)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct entry *m = &t->v[i];
		char               *path = NULL;

		if (m->major != of->major || m->minor != of->minor)
			continue;
		if (path_within(dir, m->root))
			path = joined(m->at, rest_of(dir, m->root));
		else if (path_within(m->root, dir))
			path = strdup(m->at);
		else
			continue;
		if (name_add(h, path, m->at, inside || !path_within(dir, m->root)) == -1)
			return -1;
	}
	return 0;
}

static const struct entry *
find(const struct table *t, int id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].id == id)
			return &t->v[i];
	return NULL;
}

/* Its own part of its file system, and the whole of what is mounted below it. */
static int
add_regions(struct hostview *h, const struct table *t, const struct entry *own, const char *path)
{
	char *dir = joined(own->root, rest_of(path, own->at));
	int   r = dir == NULL ? -1 : add_region(h, t, own, dir, false);

	for (size_t i = 0; r == 0 && i < t->n; i++)
		if (path_within(t->v[i].at, path) && strcmp(t->v[i].at, path) != 0)
			r = add_region(h, t, &t->v[i], t->v[i].root, true);
	free(dir);
	return r;
}

static int
add_names(struct hostview *h, int fd, const char *path, struct err *e)
{
	const struct table *t = table_now(e);

	if (t == NULL)
		return -1;
	const struct entry *own = find(t, hostview_mount_id(fd));
	if (own == NULL || !path_within(path, own->at))
		return err_set(e, E_INVALID, "the mount table does not show the file system of %s; try again",
		    log_escape(path, strlen(path)));
	if (name_add(h, strdup(path), own->at, false) == -1 || add_regions(h, t, own, path) == -1)
		return err_set(e, E_SYS, "no memory for the names of a directory");
	return 0;
}

/* ---- inodes ---- */

static struct hostid
id_of(const struct stat *st)
{
	return (struct hostid){ st->st_dev, st->st_ino };
}

static bool
is_same(struct hostid a, struct hostid b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* The path and each one above it, in turn; false when all have been. */
static bool
step_up(char path[LIM_PATH + 1])
{
	char *slash = strrchr(path, '/');

	if (strcmp(path, "/") == 0)
		return false;
	slash[slash == path ? 1 : 0] = '\0';
	return true;
}

static void
add_ids(struct hostview *h, const char *path)
{
	char        up[LIM_PATH + 1];
	struct stat st;

	snprintf(up, sizeof(up), "%s", path);
	h->exists = lstat(up, &st) == 0;
	do
		if (lstat(up, &st) == 0)
			h->above[h->n_above++] = id_of(&st);
	while (step_up(up));
}

bool
hostview_below(const struct hostview *h, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return false;
	for (size_t i = 0; i < h->n_above; i++)
		if (is_same(h->above[i], id_of(&st)))
			return true;
	return false;
}

bool
hostview_contains(const struct hostview *h, const char *path)
{
	char        up[LIM_PATH + 1];
	struct stat st;

	if (!h->exists)
		return false;
	snprintf(up, sizeof(up), "%s", path);
	do
		if (stat(up, &st) == 0 && is_same(h->above[0], id_of(&st)))
			return true;
	while (step_up(up));
	return false;
}

/* ---- open and close ---- */

int
hostview_open(struct hostview *h, int fd, const char *path, struct err *e)
{
	h->v = NULL;
	h->n = h->room = h->n_above = 0;
	if (add_names(h, fd, path, e) == -1) {
		hostview_clear(h);
		return -1;
	}
	add_ids(h, path);
	return 0;
}

void
hostview_clear(struct hostview *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->v[i].path);
		free(h->v[i].mount);
	}
	free(h->v);
	h->v = NULL;
	h->n = 0;
}
