/*
 * box_init: LangBot's whole box section.  The supervisor applies it whole or not at all; here everything is read, and
 * keys that mean nothing to boxd (docker, e2b, enabled, ...) are passed over.
 */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "langbot/action.h"
#include "langbot/models.h"
#include "langbot/pytext.h"
#include "python/pystr.h"

static enum outcome
read_backend(struct job *j, struct msg_box_init *b)
{
	const msgpack_object *o = json_get(j->data, "backend");

	b->has_backend = o != NULL;
	return job_text(j, o, MSG_BOX_INIT, "backend", "", &b->backend);
}

/* ---- limits -------------------------------------------------------------------------- */

static enum outcome
read_limit(struct job *j, struct msg_box_init *b, const struct field *f, const msgpack_object *o, const char **given)
{
	wide v;

	if (!strict_int(o, &v))
		return refuse(j, "ValueError", "box.limits.%s must be an integer", f->name);
	if (v < f->least || v > (wide)f->most)
		return refuse(j, "ValueError", "box.limits.%s must be between %" PRId64 " and %" PRIu64, f->name,
		    f->least, f->most);
	*(uint64_t *)((char *)&b->limits + f->offset) = (uint64_t)v;
	given[b->limits_given.n++] = f->name;
	return ASK;
}

static enum outcome
read_limits(struct job *j, struct msg_box_init *b)
{
	static const size_t   most = 16; /* of limits_given */
	const msgpack_object *limits = json_get(j->data, "limits"), *o;
	const char          **given = msgpack_zone_malloc(j->zone, (most + 1) * sizeof(*given));

	if (limits == NULL || !py_truth(limits))
		return ASK;
	if (limits->type != MSGPACK_OBJECT_MAP)
		return refuse(j, "ValueError", "box.limits must be an object");
	if (given == NULL)
		return job_starved(j);
	b->has_limits = true;
	b->limits_given.v = given;
	for (const struct field *f = msg_def(MSG_BOX_LIMITS)->fields; f->name != NULL && b->limits_given.n < most; f++)
		if ((o = json_get(limits, f->name)) != NULL && read_limit(j, b, f, o, given) != ASK)
			return REFUSED;
	given[b->limits_given.n] = NULL;
	return ASK;
}

/* ---- local --------------------------------------------------------------------------- */

static enum outcome
too_many_roots(struct job *j)
{
	return refuse(
	    j, "BoxValidationError", "box.local.allowed_mount_roots must have at most %d entries", LIM_MOUNT_ROOTS);
}

static enum outcome
add_root(struct job *j, struct strs *to, const char *p, size_t n)
{
	p = py_strip(p, &n);
	if (n == 0)
		return ASK;
	if (to->n == LIM_MOUNT_ROOTS)
		return too_many_roots(j);
	if (n > LIM_PATH || memchr(p, '\0', n) != NULL)
		return refuse(j, "BoxValidationError", "box.local.allowed_mount_roots has an entry that is no path");
	to->v[to->n] = text_in(j->zone, p, n);
	if (to->v[to->n] == NULL)
		return job_starved(j);
	to->v[++to->n] = NULL;
	return ASK;
}

/* A text of paths, separated by commas. */
static enum outcome
split_roots(struct job *j, struct strs *to, const char *p, size_t n)
{
	enum outcome o = ASK;

	for (const char *end = p + n; o == ASK && p <= end;) {
		const char *comma = p < end ? memchr(p, ',', (size_t)(end - p)) : NULL;
		size_t      len = (size_t)((comma != NULL ? comma : end) - p);

		o = add_root(j, to, p, len);
		p += len + 1;
	}
	return o;
}

static enum outcome
read_roots(struct job *j, struct strs *to, const msgpack_object *o)
{
	enum outcome r = ASK;

	if (o == NULL || !py_truth(o))
		return ASK;
	to->v = msgpack_zone_malloc(j->zone, (LIM_MOUNT_ROOTS + 1) * sizeof(*to->v));
	if (to->v == NULL)
		return job_starved(j);
	to->v[0] = NULL;
	if (o->type == MSGPACK_OBJECT_STR)
		return split_roots(j, to, o->via.str.ptr, o->via.str.size);
	if (o->type != MSGPACK_OBJECT_ARRAY)
		return refuse(j, "BoxValidationError", "box.local.allowed_mount_roots must be a list");
	for (size_t i = 0; r == ASK && i < o->via.array.size; i++) {
		struct buf text = { 0 };

		if (py_truth(&o->via.array.ptr[i]))
			py_str(&text, &o->via.array.ptr[i]);
		if (text.len > 0)
			r = add_root(j, to, text.data, text.len);
		buf_clear(&text);
	}
	return r;
}

static enum outcome
read_texts(struct job *j, struct msg_box_local *l, const msgpack_object *local)
{
	const struct {
		const char  *name;
		const char **at;
	} texts[] = {
		{ "host_root", &l->host_root },
		{ "default_workspace", &l->default_workspace },
		{ "skills_root", &l->skills_root },
		{ "profile", &l->profile },
		{ "image", &l->image },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const msgpack_object *o = json_get(local, texts[i].name);
		const char           *s;

		if (job_text(j, o != NULL && py_truth(o) ? o : NULL, MSG_BOX_LOCAL, texts[i].name, "", &s) != ASK)
			return REFUSED;
		size_t n = strlen(s);
		s = py_strip(s, &n);
		if ((*texts[i].at = text_in(j->zone, s, n)) == NULL)
			return job_starved(j);
	}
	return ASK;
}

/* The host's own business: a value that makes no sense there must not keep LangBot from connecting. */
static void
read_quota(struct msg_box_local *l, const msgpack_object *o)
{
	wide v = 0;

	if (o == NULL || o->type == MSGPACK_OBJECT_NIL)
		return;
	if (coerce_int(o, &v) != NULL || v < 0 || v > (wide)LIM_DISK_MB)
		log_warn("box.local.workspace_quota_mb is no number of megabytes; passed over");
	else
		l->workspace_quota_mb = (uint64_t)v;
}

static enum outcome
read_local(struct job *j, struct msg_box_init *b)
{
	const msgpack_object *local = json_get(j->data, "local");

	b->has_local = local != NULL;
	if (local == NULL || !py_truth(local))
		return ASK;
	if (local->type != MSGPACK_OBJECT_MAP)
		return refuse(j, "ValueError", "box.local must be an object");
	read_quota(&b->local, json_get(local, "workspace_quota_mb"));
	if (read_texts(j, &b->local, local) != ASK)
		return REFUSED;
	return read_roots(j, &b->local.allowed_mount_roots, json_get(local, "allowed_mount_roots"));
}

/* ---- admission ------------------------------------------------------------------------ */

/* A section that cannot be understood is not ignored: everything is closed then, and the reason is reported. */
static enum outcome
read_admission(struct job *j, struct msg_box_init *b)
{
	const msgpack_object *o = json_get(j->data, "admission");
	struct misfits        m = { .zone = j->zone };
	struct buf            why = { 0 };

	if (o == NULL || o->type == MSGPACK_OBJECT_NIL)
		return ASK;
	b->has_admission = true;
	model_read(&m, &model_policy, o, &b->admission);
	if (m.n > 0) {
		misfits_print(&m, &why, model_policy.title);
		size_t n = why.len <= LIM_TEXT ? why.len : LIM_TEXT;
		while (n < why.len && n > 0 && ((unsigned char)why.data[n] & 0xc0) == 0x80)
			n--;
		b->admission_error = text_in(j->zone, why.data, n);
		msg_defaults(MSG_BOX_POLICY, &b->admission);
	}
	bool starved = m.starved || m.lines.failed || why.failed || b->admission_error == NULL;
	misfits_clear(&m);
	buf_clear(&why);
	return starved ? job_starved(j) : ASK;
}

enum outcome
read_init(struct job *j)
{
	static enum outcome (*const parts[])(
	    struct job *, struct msg_box_init *) = { read_limits, read_backend, read_local, read_admission };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i](j, j->body) != ASK)
			return REFUSED;
	json_open(&j->answer, '{');
	json_key_bool(&j->answer, "initialized", true);
	json_close(&j->answer, '}');
	return ASK;
}
