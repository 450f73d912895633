/* What the tables allow: both ends of a channel ask here, so they cannot disagree. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "wire/msg.h"

int
range_u64(const struct field *f, uint64_t v, struct err *e)
{
	if (v < (uint64_t)f->least)
		return err_set(e, E_INVALID, "%lu is under the minimum %ld", v, f->least);
	if (v > f->most)
		return err_set(e, E_INVALID, "%lu is over the maximum %lu", v, f->most);
	return 0;
}

int
range_i64(const struct field *f, int64_t v, struct err *e)
{
	if (v < f->least || (v > 0 && (uint64_t)v > f->most))
		return err_set(e, E_INVALID, "%ld is not in %ld..%lu", v, f->least, f->most);
	return 0;
}

int
range_f64(const struct field *f, double v, struct err *e)
{
	if (!isfinite(v) || v < (double)f->least || v > (double)f->most)
		return err_set(e, E_INVALID, "%g is not in %ld..%lu", v, f->least, f->most);
	return 0;
}

int
range_count(const struct field *f, uint64_t n, const char *what, struct err *e)
{
	if (n > f->most)
		return err_set(e, E_INVALID, "%lu %s, over the maximum %lu", n, what, f->most);
	if ((int64_t)n < f->least)
		return err_set(e, E_INVALID, f->least == 1 ? "must not be empty" : "%lu %s, under the minimum %ld", n,
		    what, f->least);
	return 0;
}

void
range_names(const struct field *f, char *out, size_t size)
{
	size_t used = 0;

	for (int i = 0; f->names[i] != NULL && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s'%s'",
		    i == 0                    ? ""
		    : f->names[i + 1] == NULL ? " or "
					      : ", ",
		    f->names[i]);
}

static bool
enum_has(const struct field *f, int v)
{
	for (int i = 0; f->names[i] != NULL; i++)
		if (i == v)
			return true;
	return false;
}

static int
check_list(const struct field *f, const void *at, struct err *e)
{
	size_t      size = msg_def(f->sub)->size;
	struct list l;

	memcpy(&l, at, sizeof(l));
	if (range_count(f, l.n, "entries", e) == -1)
		return -1;
	for (size_t i = 0; i < l.n; i++)
		if (msg_check(f->sub, (const char *)l.v + i * size, e) == -1)
			return err_prefix(e, "entry %zu", i);
	return 0;
}

static int
check_value(const struct field *f, const void *at, struct err *e)
{
	int v;

	switch (f->kind) {
	case K_U64:
		return range_u64(f, *(const uint64_t *)at, e);
	case K_I64:
		return range_i64(f, *(const int64_t *)at, e);
	case K_F64:
		return range_f64(f, *(const double *)at, e);
	case K_STR:
		return range_count(f, strlen(*(const char *const *)at), "bytes", e);
	case K_LAX:
		return ((const struct lax *)at)->kind != LAX_STR
			   ? 0
			   : range_count(f, strlen(((const struct lax *)at)->text), "bytes", e);
	case K_BLOB:
		return range_count(f, ((const struct blob *)at)->len, "bytes", e);
	case K_STRS:
		return range_count(f, ((const struct strs *)at)->n, "entries", e);
	case K_PAIRS:
		return range_count(f, ((const struct pairs *)at)->n, "entries", e);
	case K_LIST:
		return check_list(f, at, e);
	case K_OBJ:
		return msg_check(f->sub, at, e);
	case K_ENUM:
		memcpy(&v, at, sizeof(v));
		return enum_has(f, v) ? 0 : err_set(e, E_INVALID, "%d stands for nothing", v);
	case K_BOOL:
	case K_FD:
		return 0;
	}
	return 0;
}

/* No blob and nothing asked for are left out, whatever the least. */
static bool
is_left_out(const struct field *f, const void *at)
{
	const struct blob *b = at;

	return f->kind == K_BLOB && b->data == NULL && b->len == 0;
}

int
msg_check(enum msg_type t, const void *body, struct err *e)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++) {
		const void *at = (const char *)body + f->offset;

		if (!is_left_out(f, at) && check_value(f, at, e) == -1)
			return err_prefix(e, "%s.%s", msg_name(t), f->name);
	}
	return 0;
}
