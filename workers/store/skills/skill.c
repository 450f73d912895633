#include "skills/skill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "fs/tree.h"

enum { NAME_CHARS = 64, TIME_BYTES = 32 }; /* the latter: of a time stamp as text */

static bool
is_name(struct span s)
{
	uint32_t c;
	bool     any = false;

	for (size_t i = 0; i < s.n;) {
		i += text_char((struct span){ s.p + i, s.n - i }, &c);
		if (c == '-' || c == '_')
			continue;
		if (!py_is_alnum(c))
			return false;
		any = true;
	}
	return any;
}

char *
skill_name(struct span s, struct err *e)
{
	char *copy = NULL;

	s = text_strip(s);
	if (s.n == 0)
		err_set(e, E_INVALID, "Skill name is required");
	else if (!text_is_valid(s) || !is_name(s))
		err_set(e, E_INVALID, "Skill name can only contain letters, numbers, hyphens and underscores");
	else if (py_len(s.p, s.n) > NAME_CHARS)
		err_set(e, E_INVALID, "Skill name cannot exceed %d characters", NAME_CHARS);
	else if ((copy = text_copy(s)) == NULL)
		err_set(e, E_SYS, "no memory");
	return copy;
}

/* Of the path beneath the root, or of the root's own: what a package without a name is called. */
static struct span
dir_name(const char *where, const char *root_path)
{
	const char *path = *where != '\0' ? where : root_path, *slash = strrchr(path, '/');

	return span_of(slash != NULL ? slash + 1 : path);
}

static uint64_t
microseconds(struct timespec t)
{
	if (t.tv_sec < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000 + ((uint64_t)t.tv_nsec + 500) / 1000;
}

static bool
is_python(int dir)
{
	static const char *const marks[] = { "requirements.txt", "pyproject.toml", "setup.py", "setup.cfg" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (tree_has_file(dir, marks[i]))
			return true;
	return tree_has_dir(dir, ".venv");
}

static int
read_entry(struct skill *s, int dir, struct err *e)
{
	struct stat st;
	AUTO_FD int fd = tree_open_file(dir, s->entry, &st);

	if (fd == -1)
		return err_sys(e, "open %s", s->entry);
	int r = st.st_size > (off_t)LIM_SKILL_TEXT ? 1 : tree_read(fd, LIM_SKILL_TEXT, &s->text);
	if (r == -1)
		return err_sys(e, "read %s", s->entry);
	if (r == 1)
		return err_set(
		    e, E_INVALID, "Skill entry file %s exceeds the %lu-byte limit", s->entry, LIM_SKILL_TEXT);
	if (!text_is_valid((struct span){ s->text.data, s->text.len }))
		return err_set(e, E_INVALID, "Skill entry file %s is not valid UTF-8 text", s->entry);
	s->created_us = microseconds(st.st_ctim);
	s->updated_us = microseconds(st.st_mtim);
	return 0;
}

/* The frontmatter's strings become the skill's. */
static int
take_front(struct skill *s, struct front *f, const char *root_path, struct err *e)
{
	s->name = skill_name(
	    f->value[FRONT_NAME] != NULL ? span_of(f->value[FRONT_NAME]) : dir_name(s->where, root_path), e);
	if (s->name == NULL)
		return -1;
	s->display_name = f->value[FRONT_DISPLAY_NAME] != NULL ? f->value[FRONT_DISPLAY_NAME] : strdup(s->name);
	s->description = f->value[FRONT_DESCRIPTION] != NULL ? f->value[FRONT_DESCRIPTION] : strdup("");
	f->value[FRONT_DISPLAY_NAME] = f->value[FRONT_DESCRIPTION] = NULL;
	s->instructions = f->body;
	return s->display_name != NULL && s->description != NULL ? 0 : err_set(e, E_SYS, "no memory");
}

static int
load(struct skill *s, int root, const char *root_path, struct err *e)
{
	AUTO_FD int  dir = tree_open_dir(root, s->where);
	struct front f;

	if (dir == -1)
		return err_sys(e, "open %s", s->package_root);
	if (read_entry(s, dir, e) == -1 ||
	    front_read(&f, (struct span){ s->text.len > 0 ? s->text.data : "", s->text.len }, e) == -1)
		return -1;
	int r = take_front(s, &f, root_path, e);
	front_clear(&f);
	s->python_project = is_python(dir);
	return r;
}

int
skill_load(struct skill *s, int root, const char *root_path, const struct found *f, struct err *e)
{
	*s = (struct skill){ .where = strdup(f->path), .entry = f->entry };
	if (s->where == NULL ||
	    asprintf(&s->package_root, "%s%s%s", root_path, *f->path != '\0' ? "/" : "", f->path) == -1) {
		s->package_root = NULL;
		skill_clear(s);
		return err_set(e, E_SYS, "no memory");
	}
	int r = 0;
	if (strlen(s->package_root) > LIM_PATH || !text_is_valid(span_of(s->package_root)))
		r = err_set(
		    e, E_INVALID, "%s: the path is too long or not valid UTF-8", log_escape(f->path, strlen(f->path)));
	if (r == 0)
		r = load(s, root, root_path, e);
	if (r == -1)
		skill_clear(s);
	return r;
}

void
skill_clear(struct skill *s)
{
	free(s->where);
	free(s->package_root);
	free(s->source_path);
	free(s->name);
	free(s->display_name);
	free(s->description);
	buf_clear(&s->text);
	*s = (struct skill){ 0 };
}

void
skill_tell(const struct skill *s, struct msg_skill *m)
{
	msg_defaults(MSG_SKILL, m);
	m->name = s->name;
	m->display_name = s->display_name;
	m->description = s->description;
	m->instructions = blob_of(s->instructions.p, s->instructions.n);
	m->package_root = s->package_root;
	m->entry_file = s->entry;
	m->python_project = s->python_project;
	m->created_us = s->created_us;
	m->updated_us = s->updated_us;
	m->source_path = s->source_path != NULL ? s->source_path : "";
}

size_t
skill_bytes(const struct skill *s)
{
	return strlen(s->name) + strlen(s->display_name) + strlen(s->description) + s->instructions.n +
	       strlen(s->package_root) + strlen(s->entry) + 2 * (size_t)TIME_BYTES;
}

void
skills_clear(struct skills *s)
{
	for (size_t i = 0; i < s->n; i++)
		skill_clear(&s->v[i]);
	free(s->v);
	*s = (struct skills){ 0 };
}
