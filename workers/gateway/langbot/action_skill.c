/*
 * Skills.  The store has the rules and the texts of its refusals; only what cannot be sent to it is refused here.  A
 * refusal is always a BoxValidationError, even for a missing key.
 */
#include <string.h>

#include "langbot/action.h"
#include "langbot/pytext.h"

static const msgpack_object *
need(struct job *j, const msgpack_object *map, const char *key)
{
	const msgpack_object *o = json_get(map, key);

	if (o == NULL)
		refuse(j, "BoxValidationError", "'%s'", key);
	return o;
}

/* No skill can have a name that the message cannot hold: the store's text for a missing skill. */
static enum outcome
read_name(struct job *j, const msgpack_object *o, const char **name)
{
	enum outcome r = job_text(j, o, MSG_SKILL_GET, "name", "None", name);
	struct buf   text = { 0 };

	if (r != REFUSED)
		return r;
	py_str(&text, o);
	refuse(j, "BoxValidationError", "Skill \"%.*s\" not found", (int)text.len, text.data != NULL ? text.data : "");
	buf_clear(&text);
	return REFUSED;
}

enum outcome
read_skill_get(struct job *j)
{
	struct msg_skill_get *b = j->body;
	const msgpack_object *o = job_need(j, "name");

	if (o == NULL)
		return REFUSED;
	if (read_name(j, o, &b->name) == ASK)
		return ASK;
	j->answer.len = 0;
	json_open(&j->answer, '{');
	json_key(&j->answer, "skill");
	json_nil(&j->answer);
	json_close(&j->answer, '}');
	return GIVEN;
}

static enum outcome
read_needed_name(struct job *j, const char **name)
{
	const msgpack_object *o = need(j, j->data, "name");

	return o == NULL ? REFUSED : read_name(j, o, name);
}

/* A text of any length, NULs and all. */
static enum outcome
read_blob(struct job *j, const msgpack_object *o, struct blob *to)
{
	struct buf text = { 0 };

	if (o->type == MSGPACK_OBJECT_STR) {
		*to = blob_of(o->via.str.ptr, o->via.str.size);
		return ASK;
	}
	py_str(&text, o);
	const char *s = text.failed ? NULL : text_in(j->zone, text.data, text.len);
	*to = blob_of(s, text.len);
	buf_clear(&text);
	return s == NULL ? job_starved(j) : ASK;
}

/* The fields of a skill that create and update both have, and where in their messages. */
struct told {
	bool        *has_display_name, *has_description, *has_instructions;
	const char **display_name, **description, **package_root;
	struct blob *instructions;
	bool         null_counts; /* a key that is there with null is there */
};

static bool
is_told(const struct told *t, const msgpack_object *o)
{
	return o != NULL && (t->null_counts || o->type != MSGPACK_OBJECT_NIL);
}

static enum outcome
read_told(struct job *j, const msgpack_object *skill, const struct told *t)
{
	const msgpack_object *display = json_get(skill, "display_name"), *about = json_get(skill, "description");
	const msgpack_object *text = json_get(skill, "instructions"), *root = json_get(skill, "package_root");

	*t->has_display_name = is_told(t, display);
	*t->has_description = is_told(t, about);
	*t->has_instructions = is_told(t, text);
	if (job_text(j, display, MSG_SKILL_CREATE, "display_name", "", t->display_name) != ASK ||
	    job_text(j, about, MSG_SKILL_CREATE, "description", "", t->description) != ASK ||
	    job_text(j, root != NULL && py_truth(root) ? root : NULL, MSG_SKILL_CREATE, "package_root", "",
		t->package_root) != ASK)
		return REFUSED;
	*t->instructions = blob_of("", 0);
	return text == NULL || text->type == MSGPACK_OBJECT_NIL ? ASK : read_blob(j, text, t->instructions);
}

static const msgpack_object *
need_skill(struct job *j)
{
	const msgpack_object *o = need(j, j->data, "skill");

	if (o == NULL || o->type == MSGPACK_OBJECT_MAP)
		return o;
	refuse(j, "BoxValidationError", "skill must be an object");
	return NULL;
}

enum outcome
read_skill_create(struct job *j)
{
	struct msg_skill_create *b = j->body;
	struct told           t = { &b->has_display_name, &b->has_description, &b->has_instructions, &b->display_name,
			  &b->description, &b->package_root, &b->instructions, .null_counts = false };
	const msgpack_object *skill = need_skill(j);

	if (skill == NULL)
		return REFUSED;
	const msgpack_object *name = json_get(skill, "name");
	if (name != NULL && py_truth(name) && job_text(j, name, MSG_SKILL_CREATE, "name", "", &b->name) != ASK)
		return refuse(j, "BoxValidationError", "Skill name cannot exceed 64 characters");
	return read_told(j, skill, &t);
}

enum outcome
read_skill_update(struct job *j)
{
	struct msg_skill_update *b = j->body;
	struct told t = { &b->has_display_name, &b->has_description, &b->has_instructions, &b->display_name,
		&b->description, &b->package_root, &b->instructions, .null_counts = true };

	if (read_needed_name(j, &b->name) != ASK)
		return REFUSED;
	const msgpack_object *skill = need_skill(j);
	if (skill == NULL)
		return REFUSED;
	const msgpack_object *name = json_get(skill, "name");
	if (name != NULL && py_truth(name) && job_text(j, name, MSG_SKILL_UPDATE, "new_name", "", &b->new_name) != ASK)
		return refuse(j, "BoxValidationError", "Renaming skills is not supported");
	return read_told(j, skill, &t);
}

enum outcome
read_skill_delete(struct job *j)
{
	struct msg_skill_delete *b = j->body;

	if (read_needed_name(j, &b->name) != ASK)
		return REFUSED;
	json_open(&j->answer, '{');
	json_key_str(&j->answer, "deleted", b->name);
	json_close(&j->answer, '}');
	return ASK;
}

static enum outcome
read_path(struct job *j, const msgpack_object *o, const char **path)
{
	return job_text(j, o, MSG_SKILL_READ, "path", "", path);
}

enum outcome
read_skill_scan(struct job *j)
{
	struct msg_skill_scan *b = j->body;
	const msgpack_object  *o = need(j, j->data, "path");

	return o == NULL ? REFUSED : read_path(j, o, &b->path);
}

/*
 * int(): the whole part of a number; what is not a number becomes 0, which the store refuses.  A number that the
 * message cannot carry becomes the nearest that it can, which the store refuses as well.
 */
static int64_t
entries_of(const msgpack_object *o)
{
	const wide most = LIM_SKILL_COUNT;
	wide       v = 0;

	if (o->type == MSGPACK_OBJECT_FLOAT64 && o->via.f64 > -0x1p62 && o->via.f64 < 0x1p62)
		v = (wide)o->via.f64;
	else if (coerce_int(o, &v) != NULL)
		v = 0;
	return v > most ? most : v < -most ? -most : (int64_t)v;
}

enum outcome
read_skill_files(struct job *j)
{
	struct msg_skill_files *b = j->body;
	const msgpack_object   *hidden = json_get(j->data, "include_hidden"), *most = json_get(j->data, "max_entries");

	if (read_needed_name(j, &b->name) != ASK)
		return REFUSED;
	b->include_hidden = hidden != NULL && py_truth(hidden);
	if (most != NULL)
		b->max_entries = entries_of(most);
	return job_text(j, json_get(j->data, "path"), MSG_SKILL_FILES, "path", ".", &b->path);
}

enum outcome
read_skill_read(struct job *j)
{
	struct msg_skill_read *b = j->body;

	if (read_needed_name(j, &b->name) != ASK)
		return REFUSED;
	const msgpack_object *o = need(j, j->data, "path");
	return o == NULL ? REFUSED : read_path(j, o, &b->path);
}

enum outcome
read_skill_write(struct job *j)
{
	struct msg_skill_write *b = j->body;

	if (read_needed_name(j, &b->name) != ASK)
		return REFUSED;
	const msgpack_object *path = need(j, j->data, "path"), *content = json_get(j->data, "content");
	if (path == NULL || read_path(j, path, &b->path) != ASK)
		return REFUSED;
	b->content = blob_of("", 0);
	if (content == NULL || content->type == MSGPACK_OBJECT_STR)
		return content == NULL ? ASK : read_blob(j, content, &b->content);
	return refuse(j, "BoxValidationError", "content must be a string");
}

/* ---- archives ------------------------------------------------------------------------ */

/* The uploaded file, which is taken out of the uploads, and its name. */
struct archive {
	struct blob *bytes;
	const char **filename, **source_subdir, **target_suffix;
};

static enum outcome
take_file(struct job *j, struct blob *to)
{
	const msgpack_object *o = need(j, j->data, "file_key");
	struct buf            why = { 0 };
	uint64_t              size = 0;

	if (o == NULL)
		return REFUSED;
	if (o->type != MSGPACK_OBJECT_STR)
		return refuse(j, "BoxValidationError", "Invalid file transfer key");
	j->fd = uploads_take(j->uploads, o->via.str.ptr, o->via.str.size, &size, &why);
	*to = size > 0 ? (struct blob){ .len = size, .fd = j->fd } : blob_of("", 0);
	if (j->fd == -1)
		refuse(j, "BoxValidationError", "%.*s", (int)why.len, why.data != NULL ? why.data : "");
	buf_clear(&why);
	return j->fd == -1 ? REFUSED : ASK;
}

static enum outcome
read_archive(struct job *j, const struct archive *a)
{
	const msgpack_object *subdir = json_get(j->data, "source_subdir");

	if (take_file(j, a->bytes) != ASK ||
	    job_text(j, json_get(j->data, "filename"), MSG_SKILL_INSTALL, "filename", "skill.zip", a->filename) !=
		ASK ||
	    job_text(j, subdir != NULL && py_truth(subdir) ? subdir : NULL, MSG_SKILL_INSTALL, "source_subdir", "",
		a->source_subdir) != ASK)
		return REFUSED;
	return job_text(
	    j, json_get(j->data, "target_suffix"), MSG_SKILL_INSTALL, "target_suffix", "upload", a->target_suffix);
}

enum outcome
read_skill_preview(struct job *j)
{
	struct msg_skill_preview *b = j->body;

	return read_archive(j, &(struct archive){ &b->archive, &b->filename, &b->source_subdir, &b->target_suffix });
}

static enum outcome
read_source_paths(struct job *j, struct strs *to)
{
	const msgpack_object *o = json_get(j->data, "source_paths");

	if (o == NULL || o->type != MSGPACK_OBJECT_ARRAY)
		return ASK;
	size_t n = o->via.array.size;
	if (n > LIM_SKILLS)
		return refuse(j, "BoxValidationError", "source_paths must have at most %d entries", LIM_SKILLS);
	to->v = msgpack_zone_malloc(j->zone, (n + 1) * sizeof(*to->v));
	if (to->v == NULL)
		return job_starved(j);
	for (to->n = 0; to->n < n; to->n++)
		if (job_text(j, &o->via.array.ptr[to->n], MSG_SKILL_INSTALL, "source_path", "", &to->v[to->n]) != ASK)
			return REFUSED;
	to->v[n] = NULL;
	return ASK;
}

enum outcome
read_skill_install(struct job *j)
{
	struct msg_skill_install *b = j->body;
	struct archive            a = { &b->archive, &b->filename, &b->source_subdir, &b->target_suffix };
	const msgpack_object     *path = json_get(j->data, "source_path");

	if (read_archive(j, &a) != ASK || read_source_paths(j, &b->source_paths) != ASK)
		return REFUSED;
	return job_text(
	    j, path != NULL && py_truth(path) ? path : NULL, MSG_SKILL_INSTALL, "source_path", "", &b->source_path);
}
