#include "langbot/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "python/pystr.h"

enum { LINES_MOST = 64 * KIB }; /* of all that is wrong: then it is only counted */

char *
text_in(msgpack_zone *zone, const char *p, size_t n)
{
	char *s = msgpack_zone_malloc(zone, n + 1);

	if (s != NULL) {
		if (n > 0)
			memcpy(s, p, n);
		s[n] = '\0';
	}
	return s;
}

/* ---- what is wrong -------------------------------------------------------------- */

void
misfit(struct misfits *m, const char *where, const char *fmt, ...)
{
	char    text[512];
	va_list ap;

	if (m->n++ > 0 && m->lines.len >= LINES_MOST)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	size_t had = m->lines.len;
	buf_append(&m->lines, m->at.data, m->at.len);
	buf_append(&m->lines, where, strlen(where));
	if (*where == '\0' && m->at.len > 0)
		m->lines.len--; /* the dot behind the place itself */
	if (m->lines.len > had)
		buf_append(&m->lines, "\n", 1);
	buf_printf(&m->lines, "  %s\n", text);
}

static void
unfit(struct misfits *m, const char *where, const char *why)
{
	misfit(m, where, "Value error, %s", why);
}

void
misfits_print(const struct misfits *m, struct buf *b, const char *title)
{
	buf_printf(b, "%zu validation error%s for %s\n", m->n, m->n == 1 ? "" : "s", title);
	buf_append(b, m->lines.data, m->lines.len > 0 ? m->lines.len - 1 : 0);
	if (m->lines.failed)
		b->failed = true;
}

void
misfits_clear(struct misfits *m)
{
	buf_clear(&m->at);
	buf_clear(&m->lines);
}

/* Step into a place and, with its return, out again. */
static size_t
step_in(struct misfits *m, const char *where, size_t n)
{
	size_t was = m->at.len;

	buf_append(&m->at, where, n);
	buf_append(&m->at, ".", 1);
	return was;
}

static size_t
step_to(struct misfits *m, size_t index)
{
	size_t was = m->at.len;

	buf_printf(&m->at, "%zu.", index);
	return was;
}

static void
step_out(struct misfits *m, size_t was)
{
	m->at.len = was;
}

static void *
room(struct misfits *m, size_t n)
{
	void *p = msgpack_zone_malloc(m->zone, n > 0 ? n : 1);

	m->starved |= p == NULL;
	return p;
}

/* ---- fields ---------------------------------------------------------------------- */

static bool
in_range(const struct rule *r, wide v)
{
	return r->unfit == NULL || (v >= r->least && (r->most == NO_MOST || v <= r->most));
}

static void
read_int(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, void *at)
{
	const char *why = NULL;
	wide        v;

	if (r->strict != NULL && !strict_int(o, &v))
		unfit(m, r->name, r->strict);
	else if (r->strict == NULL && (why = coerce_int(o, &v)) != NULL)
		misfit(m, r->name, "%s", why);
	else if (!in_range(r, v))
		unfit(m, r->name, r->unfit);
	else if (f != NULL && v > (wide)f->most)
		misfit(m, r->name, "Value error, %s must be at most %" PRIu64, r->name, f->most);
	else if (f != NULL)
		*(uint64_t *)at = v < 0 ? 0 : (uint64_t)v;
}

static void
read_float(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, double *at)
{
	const char *why;
	double      v;

	if (r->strict != NULL &&
	    (o->type == MSGPACK_OBJECT_STR || o->type == MSGPACK_OBJECT_BOOLEAN || coerce_float(o, &v) != NULL))
		unfit(m, r->name, r->strict);
	else if ((why = coerce_float(o, &v)) != NULL)
		misfit(m, r->name, "%s", why);
	else if (v <= 0)
		unfit(m, r->name, r->unfit);
	else if (isnan(v))
		misfit(m, r->name, "Value error, %s must be a number", r->name);
	else if (v > (double)f->most)
		misfit(m, r->name, "Value error, %s must be at most %" PRIu64, r->name, f->most);
	else
		*at = v;
}

static void
read_bool(struct misfits *m, const struct rule *r, const msgpack_object *o, bool *at)
{
	const char *why = coerce_bool(o, at);

	if (why != NULL)
		misfit(m, r->name, "%s", why);
}

static bool
is_text(struct misfits *m, const char *where, const msgpack_object *o)
{
	if (o->type == MSGPACK_OBJECT_STR)
		return true;
	misfit(m, where, "Input should be a valid string");
	return false;
}

/* Into the message; a NUL cannot go there, and is refused later. */
static const char *
keep_text(struct misfits *m, const char *p, size_t n)
{
	char *s = text_in(m->zone, p, n);

	if (memchr(p, '\0', n) != NULL)
		m->nul = true;
	m->starved |= s == NULL;
	return s != NULL ? s : "";
}

static void
read_text(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, const char **at)
{
	if (!is_text(m, r->name, o))
		return;
	size_t      n = o->via.str.size;
	const char *p = r->flags & STRIPPED ? py_strip(o->via.str.ptr, &n) : o->via.str.ptr;

	if (r->fits != NULL && !r->fits(p, n)) {
		unfit(m, r->name, r->unfit);
		return;
	}
	if (r->fits_too != NULL && !r->fits_too(p, n)) {
		unfit(m, r->name, r->unfit_too);
		return;
	}
	if (r->makes != NULL && (p = r->makes(m->zone, p, &n)) == NULL)
		m->starved = true;
	else if (f != NULL && n > f->most)
		misfit(m, r->name, "Value error, %s must be at most %" PRIu64 " bytes", r->name, f->most);
	else if (f != NULL)
		*at = keep_text(m, p, n);
}

/* 'a', 'b' or 'c' */
static void
read_enum(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, void *at)
{
	struct buf names = { 0 };

	for (int i = 0; f->names[i] != NULL; i++) {
		if (json_is(o, f->names[i])) {
			memcpy(at, &i, sizeof(i));
			buf_clear(&names);
			return;
		}
		buf_printf(&names, "%s'%s'", i == 0 ? "" : f->names[i + 1] == NULL ? " or " : ", ", f->names[i]);
	}
	misfit(m, r->name, "Input should be %.*s", (int)names.len, names.data != NULL ? names.data : "");
	buf_clear(&names);
}

static bool
counts(struct misfits *m, const struct rule *r, const struct field *f, size_t n)
{
	if (n <= f->most)
		return true;
	misfit(m, r->name, "Value error, %s must have at most %" PRIu64 " entries", r->name, f->most);
	return false;
}

static void
read_env(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, struct pairs *at)
{
	if (o->type != MSGPACK_OBJECT_MAP) {
		misfit(m, r->name, "Input should be a valid dictionary");
		return;
	}
	size_t       n = o->via.map.size;
	struct pair *v = counts(m, r, f, n) ? room(m, n * sizeof(*v)) : NULL;
	if (v == NULL)
		return;
	size_t was = step_in(m, r->name, strlen(r->name));
	for (size_t i = 0; i < n; i++) {
		const msgpack_object_kv *kv = &o->via.map.ptr[i];

		v[i].name = keep_text(m, kv->key.via.str.ptr, kv->key.via.str.size);
		v[i].value = is_text(m, v[i].name, &kv->val) ? keep_text(m, kv->val.via.str.ptr, kv->val.via.str.size)
							     : "";
	}
	step_out(m, was);
	*at = (struct pairs){ n, v };
}

static bool
is_list(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o)
{
	if (o->type == MSGPACK_OBJECT_ARRAY)
		return counts(m, r, f, o->via.array.size);
	misfit(m, r->name, "Input should be a valid list");
	return false;
}

static void
read_texts(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, struct strs *at)
{
	char         where[24];
	const char **v;

	if (!is_list(m, r, f, o) || (v = room(m, (o->via.array.size + 1UL) * sizeof(*v))) == NULL)
		return;
	size_t was = step_in(m, r->name, strlen(r->name)), n = o->via.array.size;
	for (size_t i = 0; i < n; i++) {
		const msgpack_object *s = &o->via.array.ptr[i];

		snprintf(where, sizeof(where), "%zu", i);
		v[i] = is_text(m, where, s) ? keep_text(m, s->via.str.ptr, s->via.str.size) : "";
	}
	v[n] = NULL;
	step_out(m, was);
	*at = (struct strs){ n, v };
}

static void
read_models(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, void *at)
{
	size_t      size = msg_def(f->sub)->size;
	struct list list;

	if (!is_list(m, r, f, o) || (list.v = room(m, o->via.array.size * size)) == NULL)
		return;
	size_t was = step_in(m, r->name, strlen(r->name));
	for (size_t i = 0; i < o->via.array.size; i++) {
		size_t there = step_to(m, i);
		void  *body = (char *)list.v + i * size;

		msg_defaults(f->sub, body);
		model_read(m, r->sub, &o->via.array.ptr[i], body);
		step_out(m, there);
	}
	step_out(m, was);
	list.n = o->via.array.size;
	memcpy(at, &list, sizeof(list));
}

static void
read_time(struct misfits *m, const struct rule *r, const msgpack_object *o, uint64_t *at)
{
	const char *why = coerce_time(o, at);

	if (why != NULL)
		misfit(m, r->name, "%s", why);
}

static void
read_field(struct misfits *m, const struct rule *r, const struct field *f, const msgpack_object *o, void *at)
{
	switch (r->shape) {
	case SHAPE_INT:
		read_int(m, r, f, o, at);
		break;
	case SHAPE_FLOAT:
		read_float(m, r, f, o, at);
		break;
	case SHAPE_BOOL:
		read_bool(m, r, o, at);
		break;
	case SHAPE_TEXT:
		read_text(m, r, f, o, at);
		break;
	case SHAPE_ENUM:
		read_enum(m, r, f, o, at);
		break;
	case SHAPE_ENV:
		read_env(m, r, f, o, at);
		break;
	case SHAPE_TEXTS:
		read_texts(m, r, f, o, at);
		break;
	case SHAPE_MODELS:
		read_models(m, r, f, o, at);
		break;
	case SHAPE_TIME:
		read_time(m, r, o, at);
		break;
	}
}

/* ---- the whole -------------------------------------------------------------------- */

static const struct field *
field_of(const struct model *d, const struct rule *r)
{
	const char *name = r->field != NULL ? r->field : r->name;

	for (const struct field *f = msg_def(d->type)->fields; f->name != NULL; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL; /* checked, and dropped */
}

static void
read_rule(struct misfits *m, const struct model *d, const struct rule *r, const msgpack_object *map, void *body)
{
	const msgpack_object *o = json_get(map, r->name);
	const struct field   *f = field_of(d, r);

	if (o == NULL && r->flags & NEEDED)
		misfit(m, r->name, "Field required");
	if (o == NULL || (r->flags & NULLABLE && o->type == MSGPACK_OBJECT_NIL))
		return;
	if (r->literal == NULL)
		read_field(m, r, f, o, f != NULL ? (char *)body + f->offset : NULL);
	else if (!json_is(o, r->literal))
		misfit(m, r->name, "Input should be '%s'", r->literal);
}

static void
refuse_others(struct misfits *m, const struct model *d, const msgpack_object *map)
{
	for (size_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *kv = &map->via.map.ptr[i];
		const struct rule       *r = d->rules;

		while (r->name != NULL && !json_is(&kv->key, r->name))
			r++;
		if (r->name != NULL)
			continue;
		size_t was = step_in(m, kv->key.via.str.ptr, kv->key.via.str.size);
		misfit(m, "", "Extra inputs are not permitted");
		step_out(m, was);
	}
}

void
model_read(struct misfits *m, const struct model *d, const msgpack_object *map, void *body)
{
	size_t before = m->n;

	if (map->type != MSGPACK_OBJECT_MAP) {
		misfit(m, "", "Input should be a valid dictionary or instance of %s", d->title);
		return;
	}
	for (const struct rule *r = d->rules; r->name != NULL; r++)
		read_rule(m, d, r, map, body);
	if (d->closed)
		refuse_others(m, d, map);
	const char *why = m->n == before && d->whole != NULL ? d->whole(body) : NULL;
	if (why != NULL)
		unfit(m, "", why);
}
