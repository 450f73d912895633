/*
 * A package that cannot be read is no skill, and hides none of the others.  An entry file is replaced as a
 * whole; a package that is removed leaves its workspace by one rename, before its files go.
 */
#include "skills/skills.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "fs/tree.h"
#include "zip/staging.h"

/* ---- finding ----------------------------------------------------------------------------- */

static int
load_all(const struct scope *s, struct skills *out, struct err *e)
{
	struct finds finds;
	struct err   why;
	size_t       bytes = 0;
	int          r = 0;

	*out = (struct skills){ 0 };
	if (discover(s->root, DISCOVER_ALL, &finds, e) == -1)
		return -1;
	out->v = calloc(finds.n + 1, sizeof(*out->v));
	if (out->v == NULL)
		r = err_set(e, E_SYS, "no memory");
	for (size_t i = 0; r == 0 && i < finds.n; i++) {
		if (skill_load(&out->v[out->n], s->root, s->path, &finds.v[i], &why) == -1) {
			log_debug("%s is no skill: %s", log_escape(finds.v[i].path, strlen(finds.v[i].path)), why.text);
			continue;
		}
		bytes += skill_bytes(&out->v[out->n++]);
		if (bytes > LIM_SKILL_LIST)
			r = err_set(e, E_INVALID, "Skill listing exceeds the configured text limit");
	}
	finds_clear(&finds);
	if (r == -1)
		skills_clear(out);
	return r;
}

/* A stable sort: skills of the same time stay in the order in which they were found. */
static void
newest_first(struct skills *s)
{
	for (size_t i = 1; i < s->n; i++) {
		struct skill one = s->v[i];
		size_t       to = i;

		for (; to > 0 && s->v[to - 1].updated_us < one.updated_us; to--)
			s->v[to] = s->v[to - 1];
		s->v[to] = one;
	}
}

int
skills_list(const struct scope *s, struct skills *out, struct err *e)
{
	if (load_all(s, out, e) == -1)
		return -1;
	newest_first(out);
	return 0;
}

int
skills_find(const struct scope *s, const char *name, struct skill *out, struct err *e)
{
	struct finds finds;
	struct err   why;
	bool         any = false;

	if (discover(s->root, DISCOVER_ALL, &finds, e) == -1)
		return -1;
	for (size_t i = 0; i < finds.n; i++) {
		struct skill one;

		if (skill_load(&one, s->root, s->path, &finds.v[i], &why) == -1)
			continue;
		if (strcmp(one.name, name) != 0 || (any && one.updated_us <= out->updated_us)) {
			skill_clear(&one);
			continue;
		}
		if (any)
			skill_clear(out);
		*out = one;
		any = true;
	}
	finds_clear(&finds);
	return any ? 0 : 1;
}

int
skills_need(const struct scope *s, const char *name, struct skill *out, struct err *e)
{
	int r = skills_find(s, name, out, e);

	return r == 1 ? err_set(e, E_INVALID, "Skill \"%s\" not found", name) : r;
}

/* ---- writing ----------------------------------------------------------------------------- */

static int
check_text(const char *what, struct span s, struct err *e)
{
	return text_is_valid(s) ? 0 : err_set(e, E_INVALID, "%s is not valid UTF-8 text", what);
}

/* What an entry file is made of. */
struct entry {
	const char *value[FRONT__COUNT];
	struct span body;
};

static int
write_entry(int dir, const struct entry *en, struct err *e)
{
	struct buf text = { 0 };
	int        r = 0;

	if (check_text("display_name", span_of(en->value[FRONT_DISPLAY_NAME]), e) == -1 ||
	    check_text("description", span_of(en->value[FRONT_DESCRIPTION]), e) == -1 ||
	    check_text("instructions", en->body, e) == -1)
		return -1;
	front_write(&text, en->value, en->body);
	if (text.failed)
		r = err_set(e, E_SYS, "no memory");
	else if (text.len > LIM_SKILL_TEXT)
		r = err_set(e, E_INVALID, "Skill entry file SKILL.md exceeds the %lu-byte limit", LIM_SKILL_TEXT);
	else
		r = tree_write(dir, "SKILL.md", text.data, text.len, e);
	buf_clear(&text);
	return r;
}

static bool
is_blank(struct span s)
{
	return text_strip(s).n == 0;
}

/* The bytes of a payload; the buffer is the caller's to clear. */
static int
take_blob(const struct blob *b, struct buf *out, struct span *text, struct err *e)
{
	if (blob_read(b, out, e) == -1 || out->failed)
		return err_set(e, E_SYS, "no memory");
	*text = (struct span){ out->len > 0 ? out->data : "", out->len };
	return 0;
}

/* ---- create ------------------------------------------------------------------------------ */

/* An existing package of the workspace, which gets a new entry file; -1 and why it is not. */
static int
adopt(const struct scope *s, const char *path, struct skill *imported, struct err *e)
{
	char         rel[LIM_PATH + 1];
	struct found found = { .path = rel };

	if (scope_beneath(s, path, "package_root", rel, e) == -1)
		return -1;
	AUTO_FD int dir = tree_open_dir(s->root, rel);
	if (dir == -1 && (errno == ELOOP || errno == EXDEV))
		return err_set(e, E_INVALID, "package_root must stay within the Workspace skill root");
	if (dir == -1)
		return err_set(e, E_INVALID, "Directory does not exist: %s/%s", s->path, rel);
	found.entry = discover_entry(dir);
	if (found.entry == NULL)
		return err_set(e, E_INVALID, "No SKILL.md found in %s%s%s", s->path, *rel != '\0' ? "/" : "", rel);
	/* it would have to be copied into itself */
	if (*rel == '\0')
		return err_set(e, E_INVALID, "package_root must be below the Workspace skill root, not that itself");
	if (skill_load(imported, s->root, s->path, &found, e) == -1)
		return -1;
	return fd_take(&dir);
}

/* What was given; when it is absent, or blank while a package is adopted, that package's. */
static const char *
field(bool has, const char *value, const char *imported)
{
	if (has && (imported == NULL || !is_blank(span_of(value))))
		return value;
	return imported != NULL ? imported : "";
}

static int
make_package(const struct scope *s, const char *name, bool *made, struct err *e)
{
	struct stat st;

	*made = fstatat(s->root, name, &st, AT_SYMLINK_NOFOLLOW) == -1;
	int dir = tree_make_dir(s->root, name);
	if (dir == -1 && (errno == ELOOP || errno == ENOTDIR))
		return err_set(e, E_INVALID, "Skill directory already exists: %s/%s", s->path, name);
	return dir == -1 ? err_sys(e, "make %s/%s", s->path, name) : dir;
}

static int
create_in(int dir, const char *name, const struct msg_skill_create *m, const struct skill *from, struct err *e)
{
	struct buf   bytes = { 0 };
	struct entry en = { .value = { [FRONT_NAME] = name } };

	en.value[FRONT_DISPLAY_NAME] = field(m->has_display_name, m->display_name, from->display_name);
	en.value[FRONT_DESCRIPTION] = field(m->has_description, m->description, from->description);
	int r = take_blob(&m->instructions, &bytes, &en.body, e);
	if (from->name != NULL && (!m->has_instructions || is_blank(en.body)))
		en.body = from->instructions;
	if (r == 0)
		r = write_entry(dir, &en, e);
	buf_clear(&bytes);
	return r;
}

static int
create_named(const struct scope *s, const char *name, const struct msg_skill_create *m, struct err *e)
{
	struct skill imported = { 0 };
	bool         made = false, adopts = !is_blank(span_of(m->package_root));
	AUTO_FD int  dir = adopts ? adopt(s, m->package_root, &imported, e) : make_package(s, name, &made, e);
	int          r = dir == -1 ? -1 : create_in(dir, name, m, &imported, e);

	if (r == -1 && made)
		unlinkat(s->root, name, AT_REMOVEDIR);
	skill_clear(&imported);
	return r;
}

int
skills_create(const struct scope *s, const struct msg_skill_create *m, struct skill *out, struct err *e)
{
	char *name = skill_name(span_of(m->name), e);
	int   r = name == NULL ? -1 : skills_find(s, name, out, e);

	if (r == 0) {
		skill_clear(out);
		r = err_set(e, E_INVALID, "Skill with name \"%s\" already exists", name);
	} else if (r == 1) {
		r = create_named(s, name, m, e);
		if (r == 0 && skills_find(s, name, out, e) != 0)
			r = err_set(e, E_INVALID, "Failed to create skill \"%s\"", name);
	}
	free(name);
	return r;
}

/* ---- update ------------------------------------------------------------------------------ */

static int
check_same(const struct skill *old, const struct msg_skill_update *m, struct err *e)
{
	struct span name = text_strip(span_of(m->new_name)), root = text_strip(span_of(m->package_root));
	char        normal[LIM_PATH + 1];

	if (*m->new_name != '\0' && !span_is(name, old->name))
		return err_set(e, E_INVALID, "Renaming skills is not supported");
	if (root.n > 0 && (!text_normpath(root, normal) || strcmp(normal, old->package_root) != 0))
		return err_set(e, E_INVALID,
		    "Updating package_root is not supported; recreate the skill to import a different package");
	return 0;
}

static int
update_entry(const struct scope *s, const struct skill *old, const struct msg_skill_update *m, struct err *e)
{
	AUTO_FD int  dir = tree_open_dir(s->root, old->where);
	struct buf   bytes = { 0 };
	struct entry en = { .value = { [FRONT_NAME] = old->name } };

	if (dir == -1)
		return err_sys(e, "open %s", old->package_root);
	en.value[FRONT_DISPLAY_NAME] = m->has_display_name ? m->display_name : old->display_name;
	en.value[FRONT_DESCRIPTION] = m->has_description ? m->description : old->description;
	int r = take_blob(&m->instructions, &bytes, &en.body, e);
	if (!m->has_instructions)
		en.body = old->instructions;
	if (r == 0)
		r = write_entry(dir, &en, e);
	buf_clear(&bytes);
	return r;
}

int
skills_update(const struct scope *s, const struct msg_skill_update *m, struct skill *out, struct err *e)
{
	struct skill old;

	if (skills_need(s, m->name, &old, e) == -1)
		return -1;
	int r = check_same(&old, m, e);
	if (r == 0)
		r = update_entry(s, &old, m, e);
	skill_clear(&old);
	if (r == 0 && skills_find(s, m->name, out, e) != 0)
		r = err_set(e, E_INVALID, "Skill \"%s\" not found after update", m->name);
	return r;
}

/* ---- delete ------------------------------------------------------------------------------ */

/* Directories that held nothing but the package go with it. */
static void
remove_empty_parents(int root, char *path)
{
	for (char *slash; (slash = strrchr(path, '/')) != NULL;) {
		*slash = '\0';
		char       *last = strrchr(path, '/');
		AUTO_FD int dir = tree_open_dir(root, "");

		if (last != NULL) {
			*last = '\0';
			fd_close(&dir);
			dir = tree_open_dir(root, path);
			*last = '/';
		}
		if (dir == -1 || unlinkat(dir, last != NULL ? last + 1 : path, AT_REMOVEDIR) == -1)
			return;
	}
}

/* Out of sight, by its parent's descriptor; a directory that its owner closed to himself does not move. */
static int
move_away(const struct scope *s, const char *where, int to)
{
	char  parent[LIM_PATH + 1];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", where);
	slash = strrchr(parent, '/');
	if (slash != NULL)
		*slash = '\0';
	AUTO_FD int from = tree_open_dir(s->root, slash != NULL ? parent : "");
	AUTO_FD int own = tree_open_dir(s->root, where);
	struct stat st;
	if (own != -1 && fstat(own, &st) == 0 && (st.st_mode & 0700) != 0700)
		(void)fchmod(own, st.st_mode | 0700);
	return from == -1 ? -1 : renameat(from, slash != NULL ? slash + 1 : parent, to, "package");
}

int
skills_delete(const struct scope *s, const char *name, struct err *e)
{
	struct skill   old = { .where = "" };
	struct staging away = { .dir = -1 };
	struct err     none;
	int            r = -1;

	if (skills_need(s, name, &old, e) == -1)
		return -1;
	if (*old.where == '\0') {
		err_set(e, E_INVALID, "Only managed skills under the Box skills root can be deleted");
	} else if (staging_open(&away, s->skills, e) == 0 && move_away(s, old.where, away.dir) == -1) {
		err_sys(e, "remove %s", old.package_root);
		(void)staging_close(&away, &none);
	} else if (away.dir != -1) {
		r = staging_close(&away, e);
		if (r == -1)
			err_prefix(e, "the skill is gone, but not all of its files");
		else
			remove_empty_parents(s->root, old.where);
	}
	skill_clear(&old);
	return r;
}

/* ---- scan -------------------------------------------------------------------------------- */

static int
too_many(const char *path, const struct finds *f, struct err *e)
{
	struct buf all = { 0 };

	for (size_t i = 0; i < f->n; i++)
		buf_printf(&all, "%s%s/%s", i > 0 ? ", " : "", path, f->v[i].path);
	err_set(e, E_INVALID, "Multiple skill directories found in %s. Please choose a more specific path: %.*s", path,
	    (int)all.len, all.data != NULL ? all.data : "");
	buf_clear(&all);
	return -1;
}

int
skills_scan(const struct scope *s, const char *path, struct skill *out, struct err *e)
{
	char         rel[LIM_PATH + 1], full[LIM_PATH + 1];
	struct finds finds;

	if (scope_beneath(s, path, "scan path", rel, e) == -1)
		return -1;
	if ((size_t)snprintf(full, sizeof(full), "%s%s%s", s->path, *rel != '\0' ? "/" : "", rel) >= sizeof(full))
		return err_set(e, E_INVALID, "scan path is too long");
	AUTO_FD int dir = tree_open_dir(s->root, rel);
	if (dir == -1 && (errno == ELOOP || errno == EXDEV))
		return err_set(e, E_INVALID, "scan path must stay within the Workspace skill root");
	if (dir == -1)
		return err_set(e, E_INVALID, "Directory does not exist: %s", full);
	if (discover(dir, DISCOVER_NEAR, &finds, e) == -1)
		return -1;
	int r;
	if (finds.n == 0)
		r = err_set(
		    e, E_INVALID, "No SKILL.md found in %s or its subdirectories (max depth: %d)", full, DISCOVER_NEAR);
	else if (finds.n > 1)
		r = too_many(full, &finds, e);
	else
		r = skill_load(out, dir, full, &finds.v[0], e);
	finds_clear(&finds);
	return r;
}
