#include <string.h>

#include "langbot/action.h"

static void
put_blob(struct buf *b, const char *key, const struct blob *blob)
{
	struct buf bytes = { 0 };
	struct err e;

	if (blob_read(blob, &bytes, &e) == -1)
		b->failed = true;
	json_key(b, key);
	json_text(b, bytes.data != NULL ? bytes.data : "", bytes.len);
	b->failed |= bytes.failed;
	buf_clear(&bytes);
}

static void
put_skill(struct buf *b, const struct msg_skill *s, bool preview)
{
	json_open(b, '{');
	json_key_str(b, "name", s->name);
	json_key_str(b, "display_name", s->display_name);
	json_key_str(b, "description", s->description);
	put_blob(b, "instructions", &s->instructions);
	json_key_str(b, "package_root", s->package_root);
	json_key_str(b, "entry_file", s->entry_file);
	json_key_bool(b, "python_project", s->python_project);
	shape_time(b, "created_at", s->created_us, "+00:00");
	shape_time(b, "updated_at", s->updated_us, "+00:00");
	if (preview)
		json_key_str(b, "source_path", s->source_path);
	json_close(b, '}');
}

static void
put_skills(struct buf *b, const struct msg_skills *r, bool preview)
{
	json_open(b, '{');
	json_key(b, "skills");
	json_open(b, '[');
	for (size_t i = 0; i < r->skills.n; i++) {
		json_item(b);
		put_skill(b, &r->skills.v[i], preview);
	}
	json_close(b, ']');
	json_close(b, '}');
}

void
shape_skills(struct buf *b, const struct asked *asked, const void *result)
{
	put_skills(b, result, false);
}

void
shape_skill_previews(struct buf *b, const struct asked *asked, const void *result)
{
	put_skills(b, result, true);
}

void
shape_skill_itself(struct buf *b, const struct asked *asked, const void *result)
{
	put_skill(b, result, false);
}

void
shape_skill(struct buf *b, const struct asked *asked, const void *result)
{
	json_open(b, '{');
	json_key(b, "skill");
	put_skill(b, result, false);
	json_close(b, '}');
}

void
shape_skill_found(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_skill_found *r = result;

	json_open(b, '{');
	json_key(b, "skill");
	if (r->found && r->skill.n > 0)
		put_skill(b, &r->skill.v[0], false);
	else
		json_nil(b);
	json_close(b, '}');
}

/* {"skill": {"name": ...}, and room for more */
static void
open_named(struct buf *b, const char *name)
{
	json_open(b, '{');
	json_key(b, "skill");
	json_open(b, '{');
	json_key_str(b, "name", name);
	json_close(b, '}');
}

static void
put_entry(struct buf *b, const struct msg_skill_entry *e)
{
	json_open(b, '{');
	json_key_str(b, "path", e->path);
	json_key_str(b, "name", e->name);
	json_key_bool(b, "is_dir", e->is_dir);
	json_key(b, "size");
	if (e->is_dir)
		json_nil(b);
	else
		json_u64(b, e->size_bytes);
	json_close(b, '}');
}

void
shape_skill_entries(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_skill_entries *r = result;

	open_named(b, r->name);
	json_key_str(b, "base_path", r->base_path);
	json_key(b, "entries");
	json_open(b, '[');
	for (size_t i = 0; i < r->entries.n; i++) {
		json_item(b);
		put_entry(b, &r->entries.v[i]);
	}
	json_close(b, ']');
	json_key_bool(b, "truncated", r->truncated);
	json_close(b, '}');
}

void
shape_skill_file(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_skill_file *r = result;

	open_named(b, r->name);
	json_key_str(b, "path", r->path);
	put_blob(b, "content", &r->content);
	json_close(b, '}');
}

void
shape_skill_written(struct buf *b, const struct asked *asked, const void *result)
{
	const struct msg_skill_file *r = result;

	open_named(b, r->name);
	json_key_str(b, "path", r->path);
	json_key_u64(b, "bytes_written", r->bytes_written);
	json_close(b, '}');
}
