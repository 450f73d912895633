/*
 * An archive is unpacked into a staging directory, which no workspace sees.  A package is installed by renaming
 * it into its place once it is on the disk: so it is there whole or not at all, however this ends.
 */
#include "zip/upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "fs/tree.h"
#include "skills/skills.h"
#include "zip/staging.h"
#include "zip/unzip.h"

#define UNPACKED "extracted" /* in the staging directory; upstream's name, by which a nameless skill is called */

/* What an upload asks for, whether to look or to install. */
struct ask {
	const struct blob *archive;
	const char        *filename, *subdir, *suffix;
};

struct upload {
	const struct scope *scope;
	const struct ask   *ask;
	struct staging      staging;            /* owned */
	int                 root;               /* owned; where packages are looked for */
	char                path[LIM_PATH + 1]; /* of that, in the staging directory */
	struct skills       skills;             /* owned; the candidates, by source_path */
};

/* ---- names ------------------------------------------------------------------------------- */

/* The last part of a path, without its last extension. */
static struct span
stem_of(struct span s)
{
	for (size_t i = s.n; i > 0; i--)
		if (s.p[i - 1] == '/') {
			s = (struct span){ s.p + i, s.n - i };
			break;
		}
	size_t dots = 0;
	while (dots < s.n && s.p[dots] == '.')
		dots++; /* those in front begin no extension */
	for (size_t i = s.n; i > dots; i--)
		if (s.p[i - 1] == '.')
			return (struct span){ s.p, i - 1 };
	return s;
}

static void
put_safe(struct buf *out, struct span s)
{
	struct buf safe = { 0 };
	uint32_t   c;

	for (size_t i = 0; i < s.n;) {
		size_t n = text_char((struct span){ s.p + i, s.n - i }, &c);

		if (py_is_alnum(c) || c == '_')
			buf_append(&safe, s.p + i, n);
		else
			buf_append(&safe, "-", 1);
		i += n;
	}
	struct span stripped = text_strip_of((struct span){ safe.len > 0 ? safe.data : "", safe.len }, "-_");
	if (stripped.n > 0)
		buf_append(out, stripped.p, stripped.n);
	else
		buf_printf(out, "uploaded-skill");
	out->failed |= safe.failed;
	buf_clear(&safe);
}

/* The directory a skill is installed into, without what is in front. */
static int
directory_name(const char *filename, const char *source_path, const char *suffix, char out[LIM_PATH + 1], struct err *e)
{
	struct span given = text_strip(span_of(filename));
	const char *slash = strrchr(source_path, '/'), *leaf = slash != NULL ? slash + 1 : source_path;
	struct buf  name = { 0 };
	int         r = 0;

	if (!text_is_valid(given) || !text_is_valid(span_of(suffix)) || strchr(suffix, '/') != NULL)
		return err_set(e, E_INVALID, "target_suffix and filename must be parts of a name");
	put_safe(&name, stem_of(given));
	if (*leaf != '\0' && !(name.len == strlen(leaf) && memcmp(name.data, leaf, name.len) == 0))
		buf_printf(&name, "-%s", leaf);
	if (*suffix != '\0')
		buf_printf(&name, "-%s", suffix);
	if (name.failed)
		r = err_set(e, E_SYS, "no memory");
	else if (name.len > NAME_MAX)
		r = err_set(
		    e, E_INVALID, "the directory's name would have %zu bytes, over the maximum %d", name.len, NAME_MAX);
	else
		snprintf(out, LIM_PATH + 1, "%.*s", (int)name.len, name.data);
	buf_clear(&name);
	return r;
}

/* Stripped, with slashes, and none at the ends; the caller frees it. */
static char *
portable(const char *path)
{
	char *copy = text_copy(text_strip(span_of(path)));

	for (char *c = copy; c != NULL && *c != '\0'; c++)
		if (*c == '\\')
			*c = '/';
	if (copy == NULL)
		return NULL;
	char *inner = text_copy(text_strip_of(span_of(copy), "/"));
	free(copy);
	return inner;
}

/* ---- unpacking and looking --------------------------------------------------------------- */

static int
unpack(struct upload *u, struct err *e)
{
	struct buf bytes = { 0 };

	if (u->ask->archive->len == 0)
		return err_set(e, E_INVALID, "Uploaded file is empty");
	if (u->ask->archive->len > LIM_SKILL_ARCHIVE)
		return err_set(
		    e, E_INVALID, "Uploaded archive exceeds the compressed size limit (%lu bytes)", LIM_SKILL_ARCHIVE);
	int         r = blob_read(u->ask->archive, &bytes, e);
	AUTO_FD int into = r == 0 ? tree_make_dir(u->staging.dir, UNPACKED) : -1;
	if (r == 0 && into == -1)
		r = err_sys(e, "make a directory in the skills root");
	if (r == 0)
		r = unzip((struct span){ bytes.data, bytes.len }, into, e);
	buf_clear(&bytes);
	return r;
}

/* The only entry of the directory, when that is a directory too. */
static bool
only_dir(int root, char name[NAME_MAX + 1])
{
	int            fd = tree_open_dir(root, "");
	DIR           *dir = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *d;
	size_t         n = 0;

	if (dir == NULL) {
		fd_close(&fd);
		return false;
	}
	while (n < 2 && (d = readdir(dir)) != NULL)
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) {
			n++;
			snprintf(name, NAME_MAX + 1, "%s", d->d_name);
		}
	closedir(dir);
	return n == 1 && tree_has_dir(root, name);
}

/* Into the one directory at the top, and the one that was asked for. */
static int
find_root(struct upload *u, struct err *e)
{
	char        only[NAME_MAX + 1], normal[LIM_PATH + 1];
	AUTO_FD int top = tree_open_dir(u->staging.dir, UNPACKED);
	char       *sub = portable(u->ask->subdir);
	int         n = snprintf(u->path, sizeof(u->path), UNPACKED);

	if (top != -1 && only_dir(top, only))
		n += snprintf(u->path + n, sizeof(u->path) - (size_t)n, "/%s", only);
	int r = 0;
	if (top == -1 || sub == NULL)
		r = err_sys(e, "open what was unpacked");
	else if (*sub != '\0' && (!text_normpath(span_of(sub), normal) || strncmp(normal, "..", 2) == 0 ||
				     (size_t)n + strlen(normal) + 2 > sizeof(u->path)))
		r = err_set(e, E_INVALID, "source_subdir must stay within the uploaded archive");
	else if (*sub != '\0' && strcmp(normal, ".") != 0)
		memcpy(stpcpy(u->path + n, "/"), normal, strlen(normal) + 1);
	if (r == 0 && (u->root = tree_open_dir(u->staging.dir, u->path)) == -1)
		r = err_set(e, E_INVALID, "source_subdir does not exist in the uploaded archive: %s", sub);
	free(sub);
	return r;
}

/* Where it would be, in the place of where it is now. */
static int
set_target(struct upload *u, struct skill *s, struct err *e)
{
	char name[LIM_PATH + 1];

	if (directory_name(u->ask->filename, s->where, u->ask->suffix, name, e) == -1)
		return -1;
	free(s->package_root);
	s->source_path = strdup(s->where);
	if (asprintf(&s->package_root, "%s/%s", u->scope->path, name) == -1) {
		s->package_root = NULL;
		return err_set(e, E_SYS, "no memory");
	}
	if (strlen(s->package_root) > LIM_PATH)
		return err_set(e, E_INVALID, "the path of the package would be too long");
	return s->source_path != NULL ? 0 : err_set(e, E_SYS, "no memory");
}

static int
by_source(const void *a, const void *b)
{
	return strcmp(((const struct skill *)a)->source_path, ((const struct skill *)b)->source_path);
}

static int
load_candidates(struct upload *u, const struct finds *finds, struct err *e)
{
	u->skills.v = calloc(finds->n + 1, sizeof(*u->skills.v));
	if (u->skills.v == NULL)
		return err_set(e, E_SYS, "no memory");
	for (size_t i = 0; i < finds->n; i++) {
		if (skill_load(&u->skills.v[i], u->root, u->path, &finds->v[i], e) == -1)
			return -1;
		u->skills.n++;
		if (set_target(u, &u->skills.v[i], e) == -1)
			return -1;
	}
	qsort(u->skills.v, u->skills.n, sizeof(*u->skills.v), by_source);
	return 0;
}

static int
find_candidates(struct upload *u, struct err *e)
{
	struct finds finds;

	if (discover(u->root, DISCOVER_NEAR, &finds, e) == -1)
		return -1;
	int r = finds.n > 0 ? load_candidates(u, &finds, e)
			    : err_set(e, E_INVALID,
				  "No SKILL.md found in the uploaded archive or its subdirectories (max depth: %d)",
				  DISCOVER_NEAR);
	finds_clear(&finds);
	return r;
}

/* upload_end is due in any case. */
static int
upload_begin(struct upload *u, const struct scope *s, const struct ask *ask, struct err *e)
{
	*u = (struct upload){ .scope = s, .ask = ask, .staging = { .dir = -1 }, .root = -1 };
	if (staging_open(&u->staging, s->skills, e) == -1)
		return -1;
	return unpack(u, e) == -1 || find_root(u, e) == -1 ? -1 : find_candidates(u, e);
}

/* What the staging directory keeps is not the client's business: the next start removes it. */
static void
upload_end(struct upload *u)
{
	struct err e;

	fd_close(&u->root);
	skills_clear(&u->skills);
	(void)staging_close(&u->staging, &e);
}

int
upload_preview(const struct scope *s, const struct msg_skill_preview *m, struct skills *out, struct err *e)
{
	struct ask    ask = { &m->archive, m->filename, m->source_subdir, m->target_suffix };
	struct upload u;
	int           r = upload_begin(&u, s, &ask, e);

	if (r == 0) {
		*out = u.skills;
		u.skills = (struct skills){ 0 };
	}
	upload_end(&u);
	return r;
}

/* ---- choosing ---------------------------------------------------------------------------- */

struct choice {
	struct skill **v; /* owned; of the candidates */
	size_t         n;
};

/* The candidates, for an error's text; what does not fit is visibly cut. */
static const char *
available(const struct upload *u, char text[ERR_TEXT])
{
	size_t n = 0;

	for (size_t i = 0; i < u->skills.n && n < ERR_TEXT; i++) {
		const char *source = u->skills.v[i].source_path;

		n += (size_t)snprintf(
		    text + n, ERR_TEXT - n, "%s%s", i > 0 ? ", " : "", *source != '\0' ? source : ".");
	}
	return text;
}

static int
choose_one(struct upload *u, struct choice *c, const char *asked, struct err *e)
{
	char         *path = portable(asked);
	struct skill *found = NULL;
	int           r = 0;

	if (path == NULL)
		return err_set(e, E_SYS, "no memory");
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->v[i]->source_path, path) == 0) {
			free(path);
			return 0; /* twice is once */
		}
	for (size_t i = 0; i < u->skills.n; i++)
		if (strcmp(u->skills.v[i].source_path, path) == 0)
			found = &u->skills.v[i];
	if (found != NULL)
		c->v[c->n++] = found;
	else
		r = err_set(e, E_INVALID, "Invalid source_path \"%s\". Available: %s", path,
		    available(u, (char[ERR_TEXT]){ 0 }));
	free(path);
	return r;
}

static int
choose(struct upload *u, const struct msg_skill_install *m, struct choice *c, struct err *e)
{
	/* blank, or nothing but slashes: that is not the root of the archive, but not given */
	bool named = m->source_path[strspn(m->source_path, " \t\r\n/\\")] != '\0';

	*c = (struct choice){ .v = calloc(u->skills.n + 1, sizeof(struct skill *)) };
	if (c->v == NULL)
		return err_set(e, E_SYS, "no memory");
	for (size_t i = 0; i < m->source_paths.n; i++)
		if (choose_one(u, c, m->source_paths.v[i], e) == -1)
			return -1;
	if (named && choose_one(u, c, m->source_path, e) == -1)
		return -1;
	if (c->n > 0)
		return 0;
	if (u->skills.n > 1)
		return err_set(e, E_INVALID, "Multiple skills found. Please choose one or more source_paths: %s",
		    available(u, (char[ERR_TEXT]){ 0 }));
	c->v[c->n++] = &u->skills.v[0];
	return 0;
}

static const char *
target_name(const struct skill *s)
{
	return strrchr(s->package_root, '/') + 1;
}

static int
check_targets(const struct upload *u, const struct choice *c, struct err *e)
{
	struct stat st;

	for (size_t i = 0; i < c->n; i++) {
		for (size_t k = 0; k < i; k++)
			if (strcmp(c->v[k]->package_root, c->v[i]->package_root) == 0)
				return err_set(
				    e, E_INVALID, "Duplicate target directory selected: %s", c->v[i]->package_root);
		if (fstatat(u->scope->root, target_name(c->v[i]), &st, AT_SYMLINK_NOFOLLOW) == 0)
			return err_set(e, E_INVALID, "Skill directory already exists: %s", c->v[i]->package_root);
	}
	return 0;
}

/* ---- installing -------------------------------------------------------------------------- */

/* By descriptors of both parents. */
static int
move_in(const struct upload *u, const struct skill *s)
{
	char  from[2 * LIM_PATH + 2];
	char *slash;

	snprintf(from, sizeof(from), "%s%s%s", u->path, *s->where != '\0' ? "/" : "", s->where);
	slash = strrchr(from, '/');
	if (slash != NULL)
		*slash = '\0';
	AUTO_FD int parent = tree_open_dir(u->staging.dir, slash != NULL ? from : "");
	if (parent == -1)
		return -1;
	return renameat2(parent, slash != NULL ? slash + 1 : from, u->scope->root, target_name(s), RENAME_NOREPLACE);
}

/* Back out of sight, the last first; the staging directory goes with all that is in it. */
static void
move_out(const struct upload *u, const struct choice *c, size_t n)
{
	char name[32];

	while (n-- > 0) {
		snprintf(name, sizeof(name), "back-%zu", n);
		(void)renameat(u->scope->root, target_name(c->v[n]), u->staging.dir, name);
	}
}

static int
install(struct upload *u, const struct choice *c, struct err *e)
{
	size_t n = 0;

	/* files, directories and modes are on the disk before any of it has its name */
	if (syncfs(u->staging.dir) == -1)
		return err_sys(e, "sync what was unpacked");
	for (; n < c->n; n++)
		if (move_in(u, c->v[n]) == -1) {
			if (errno == EEXIST)
				err_set(e, E_INVALID, "Skill directory already exists: %s", c->v[n]->package_root);
			else
				err_sys(e, "install %s", c->v[n]->package_root);
			break;
		}
	if (n == c->n && fsync(u->scope->root) == 0)
		return 0;
	if (n == c->n)
		err_sys(e, "sync the skills of the workspace");
	move_out(u, c, n);
	return -1;
}

/*
 * As asking for it by name would tell it: with a clash it may be another one.  A package without a name is called
 * by its new directory.
 */
static int
tell_one(const struct upload *u, const struct skill *s, struct skill *out, struct err *e)
{
	struct found found = { .path = strdup(target_name(s)), .entry = s->entry };
	struct skill own = { 0 };
	int          r = found.path == NULL ? err_set(e, E_SYS, "no memory")
					    : skill_load(&own, u->scope->root, u->scope->path, &found, e);

	free(found.path);
	if (r == -1)
		return -1;
	r = skills_find(u->scope, own.name, out, e);
	if (r == 1)
		*out = own;
	else
		skill_clear(&own);
	return r == -1 ? -1 : 0;
}

static int
tell_installed(const struct upload *u, const struct choice *c, struct skills *out, struct err *e)
{
	*out = (struct skills){ .v = calloc(c->n, sizeof(*out->v)) };
	if (out->v == NULL)
		return err_set(e, E_SYS, "no memory");
	for (; out->n < c->n; out->n++)
		if (tell_one(u, c->v[out->n], &out->v[out->n], e) == -1) {
			skills_clear(out);
			return -1;
		}
	return 0;
}

int
upload_install(const struct scope *s, const struct msg_skill_install *m, struct skills *out, struct err *e)
{
	struct ask    ask = { &m->archive, m->filename, m->source_subdir, m->target_suffix };
	struct choice c = { 0 };
	struct upload u;
	int           r = upload_begin(&u, s, &ask, e);

	if (r == 0)
		r = choose(&u, m, &c, e);
	if (r == 0)
		r = check_targets(&u, &c, e);
	if (r == 0)
		r = install(&u, &c, e);
	if (r == 0)
		r = tell_installed(&u, &c, out, e);
	free(c.v);
	upload_end(&u);
	return r;
}
