#include "fs/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "fs/tree.h"
#include "skills/names.h"
#include "skills/skills.h"

static int
outside(struct err *e)
{
	return err_set(e, E_INVALID, "path must stay within the skill package root");
}

/* As text: relative, and not upwards ("..foo" is refused too, as upstream does). */
static int
check_path(const char *asked, char out[LIM_PATH + 1], struct err *e)
{
	struct span path = text_strip(span_of(asked));

	if (path.n > 0 && path.p[0] == '/')
		return err_set(e, E_INVALID, "path must be relative to the skill package root");
	if (!text_is_valid(path) || !text_normpath(path, out) || strncmp(out, "..", 2) == 0)
		return outside(e);
	return 0;
}

/* The package's directory; it is known by its skill's name. */
static int
open_package(const struct scope *s, const char *name, struct err *e)
{
	struct skill skill;

	if (skills_need(s, name, &skill, e) == -1)
		return -1;
	int dir = tree_open_dir(s->root, skill.where);
	if (dir == -1)
		err_sys(e, "open %s", skill.package_root);
	skill_clear(&skill);
	return dir;
}

static bool
leaves(int code)
{
	return code == EXDEV || code == ELOOP;
}

/* ---- list -------------------------------------------------------------------------------- */

static int
read_names(DIR *dir, bool hidden, struct names *names, struct err *e)
{
	struct dirent *d;
	size_t         seen = 0;
	int            r = 0;

	while (r == 0 && (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (++seen > LIM_SKILL_ENTRIES)
			return err_set(e, E_INVALID, "Skill directory exceeds the configured entry limit");
		if (hidden || d->d_name[0] != '.')
			r = names_add(names, d->d_name);
	}
	return r == 0 ? 0 : err_set(e, E_SYS, "no memory");
}

/* Valid UTF-8, which a name need not be; the caller frees it. */
static char *
shown(const char *prefix, const char *name)
{
	struct buf out = { 0 };

	buf_printf(&out, "%s%s", prefix, *prefix != '\0' ? "/" : "");
	utf8_append(&out, name, strlen(name));
	buf_append(&out, "", 1);
	if (out.failed)
		buf_clear(&out);
	return out.data;
}

/* Through a symlink, if it stays in the package; one that leads nowhere or out is a file of no size. */
static int
tell(struct msg_skill_entry *to, int package, const char *base, const char *name, struct err *e)
{
	char        path[LIM_PATH + NAME_MAX + 3];
	struct stat st = { 0 };

	msg_defaults(MSG_SKILL_ENTRY, to);
	snprintf(path, sizeof(path), "%s/%s", base, name);
	AUTO_FD int fd = tree_open_name(package, path);
	if (fd != -1 && fstat(fd, &st) == -1)
		return err_sys(e, "look at %s", name);
	to->path = shown(strcmp(base, ".") == 0 ? "" : base, name);
	to->name = shown("", name);
	to->is_dir = S_ISDIR(st.st_mode);
	to->size_bytes = to->is_dir ? 0 : (uint64_t)st.st_size;
	return to->path != NULL && to->name != NULL ? 0 : err_set(e, E_SYS, "no memory");
}

void
files_clear(struct msg_skill_entries *m)
{
	for (size_t i = 0; i < m->entries.n; i++) {
		free((char *)(uintptr_t)m->entries.v[i].path);
		free((char *)(uintptr_t)m->entries.v[i].name);
	}
	free(m->entries.v);
	free((char *)(uintptr_t)m->base_path);
	m->entries.v = NULL;
	m->entries.n = 0;
}

static int
fill(
    struct msg_skill_entries *out, int package, const char *base, const struct names *names, size_t most, struct err *e)
{
	size_t n = names->n < most ? names->n : most;

	out->truncated = names->n > most;
	out->base_path = strdup(base);
	out->entries.v = calloc(n + 1, sizeof(*out->entries.v));
	if (out->entries.v == NULL || out->base_path == NULL)
		return err_set(e, E_SYS, "no memory");
	for (; out->entries.n < n; out->entries.n++)
		if (tell(&out->entries.v[out->entries.n], package, base, names->v[out->entries.n], e) == -1)
			return -1;
	return 0;
}

static int
list_dir(int package, const char *base, const struct msg_skill_files *m, struct msg_skill_entries *out, struct err *e)
{
	struct names names = { 0 };
	int          fd = tree_open_dir_by_link(package, base);

	if (fd == -1 && leaves(errno))
		return outside(e);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	if (dir == NULL) {
		fd_close(&fd);
		struct span asked = text_strip(span_of(m->path));
		return err_set(e, E_INVALID, "Skill directory not found: %.*s", asked.n > 0 ? (int)asked.n : 1,
		    asked.n > 0 ? asked.p : ".");
	}
	int r = read_names(dir, m->include_hidden, &names, e);
	closedir(dir);
	names_sort(&names);
	if (r == 0 && (r = fill(out, package, base, &names, (size_t)m->max_entries, e)) == -1)
		files_clear(out);
	names_clear(&names);
	return r;
}

int
files_list(const struct scope *s, const struct msg_skill_files *asked, struct msg_skill_entries *out, struct err *e)
{
	struct msg_skill_files m = *asked;
	char                   base[LIM_PATH + 1];

	msg_defaults(MSG_SKILL_ENTRIES, out);
	out->base_path = NULL;
	if (m.max_entries <= 0)
		return err_set(e, E_INVALID, "max_entries must be a positive integer");
	if (m.max_entries > LIM_FILES)
		m.max_entries = LIM_FILES;
	AUTO_FD int package = open_package(s, m.name, e);
	if (package == -1 || check_path(m.path, base, e) == -1)
		return -1;
	out->name = asked->name;
	return list_dir(package, base, &m, out, e);
}

/* ---- read and write ---------------------------------------------------------------------- */

/* The package, and the path in it; the package itself is no file. */
static int
open_for_file(const struct scope *s, const char *name, const char *asked, char path[LIM_PATH + 1], struct err *e)
{
	AUTO_FD int package = open_package(s, name, e);

	if (package == -1 || check_path(asked, path, e) == -1)
		return -1;
	return strcmp(path, ".") == 0 ? outside(e) : fd_take(&package);
}

static int
too_large(const char *path, struct err *e)
{
	return err_set(e, E_INVALID, "Skill file %s exceeds the %lu-byte limit", path, LIM_SKILL_TEXT);
}

int
files_read(
    const struct scope *s, const struct msg_skill_read *m, char path[LIM_PATH + 1], struct buf *out, struct err *e)
{
	AUTO_FD int package = open_for_file(s, m->name, m->path, path, e);
	struct stat st;

	if (package == -1)
		return -1;
	AUTO_FD int fd = tree_open_file(package, path, &st);
	if (fd == -1 && leaves(errno))
		return outside(e);
	if (fd == -1)
		return err_set(e, E_INVALID, "Skill file not found: %s", path);
	int r = st.st_size > (off_t)LIM_SKILL_TEXT ? 1 : tree_read(fd, LIM_SKILL_TEXT, out);
	if (r == -1)
		return err_sys(e, "read %s", path);
	if (r == 1)
		return too_large(path, e);
	if (!text_is_valid((struct span){ out->data, out->len }))
		return err_set(e, E_INVALID, "Skill file %s is not valid UTF-8 text", path);
	return 0;
}

static int
put(int package, const char *path, const struct buf *bytes, struct err *e)
{
	char  parent[LIM_PATH + 1];
	char *slash;

	/* a symlink at the end is replaced, never written through; but one that leaves is reported as upstream does */
	AUTO_FD int there = tree_open_name(package, path);
	if (there == -1 && leaves(errno))
		return outside(e);
	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash != NULL)
		*slash = '\0';
	AUTO_FD int dir = tree_make_dirs(package, slash != NULL ? parent : "");
	if (dir == -1 && leaves(errno))
		return outside(e);
	if (dir == -1)
		return err_sys(e, "make %s", parent);
	return tree_write(dir, slash != NULL ? slash + 1 : parent, bytes->len > 0 ? bytes->data : "", bytes->len, e);
}

int
files_write(
    const struct scope *s, const struct msg_skill_write *m, char path[LIM_PATH + 1], uint64_t *written, struct err *e)
{
	AUTO_FD int package = open_for_file(s, m->name, m->path, path, e);
	struct buf  bytes = { 0 };

	if (package == -1)
		return -1;
	if (m->content.len > LIM_SKILL_TEXT)
		return too_large(path, e);
	int r = blob_read(&m->content, &bytes, e);
	if (r == 0 && !text_is_valid((struct span){ bytes.data, bytes.len }))
		r = err_set(e, E_INVALID, "Skill file %s is not valid UTF-8 text", path);
	if (r == 0)
		r = put(package, path, &bytes, e);
	*written = bytes.len;
	buf_clear(&bytes);
	return r;
}
