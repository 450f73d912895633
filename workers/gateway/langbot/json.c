/*
 * yajl tells what it reads; values pile up on a stack, and what belongs to an array or map is moved into the
 * zone when that ends.  A fault does not stop the reading: whose request it was may stand behind it.
 */
#include "langbot/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "base/bounds.h"
#include "base/log.h"
#include "base/utf8.h"

struct frame {
	size_t first; /* of its values on the stack; those of a map are key, value, key, value */
	bool   map;
	bool   kept; /* there was room for it, and for its key */
};

struct reader {
	const char     *text;
	size_t          n;
	msgpack_zone   *zone;
	msgpack_object *stack; /* owned */
	size_t          used, cap;
	struct frame    frames[LIM_JSON_DEPTH];
	size_t          depth;  /* may be greater than there are frames: what is below is not kept */
	size_t          values; /* so far, in all */
	bool            faulty, starved;
	struct err     *e;
};

/* The first fault counts. */
#define FAULT(r, ...) ((r)->faulty ? 0 : ((r)->faulty = true, err_set((r)->e, E_VALUE, __VA_ARGS__)))

static int
starve(struct reader *r)
{
	r->starved = true;
	err_set(r->e, E_SYS, "no memory for a message");
	return 0;
}

/* One more; those that are too many, and all after them, are dropped: so keys and values stay in step. */
static bool
count(struct reader *r)
{
	if (++r->values <= LIM_VALUES)
		return true;
	FAULT(r, "JSON has more than %lu values", LIM_VALUES);
	return false;
}

static int
put(struct reader *r, msgpack_object o)
{
	if (r->used == r->cap) {
		size_t          cap = r->cap ? 2 * r->cap : 64;
		msgpack_object *v = reallocarray(r->stack, cap, sizeof(*v));

		if (v == NULL)
			return starve(r);
		r->stack = v;
		r->cap = cap;
	}
	r->stack[r->used++] = o;
	return 1;
}

static int
push(struct reader *r, msgpack_object o)
{
	return r->depth > LIM_JSON_DEPTH || !count(r) ? 1 : put(r, o);
}

static int
on_null(void *arg)
{
	return push(arg, (msgpack_object){ .type = MSGPACK_OBJECT_NIL });
}

static int
on_boolean(void *arg, int v)
{
	return push(arg, (msgpack_object){ .type = MSGPACK_OBJECT_BOOLEAN, .via.boolean = v });
}

/* In the zone; what is in the text already stays there. */
static const char *
keep(struct reader *r, const char *p, size_t n)
{
	if (n == 0)
		return "";
	if (p >= r->text && p < r->text + r->n)
		return p;
	char *copy = msgpack_zone_malloc(r->zone, n);
	if (copy != NULL)
		memcpy(copy, p, n);
	return copy;
}

static int
push_whole(struct reader *r, const char *p, size_t n)
{
	msgpack_object o = { .type = MSGPACK_OBJECT_POSITIVE_INTEGER };
	char           digits[32];

	if (n < sizeof(digits)) {
		memcpy(digits, p, n);
		digits[n] = '\0';
		errno = 0;
		if (*p != '-')
			o.via.u64 = strtoull(digits, NULL, 10);
		else if ((o.via.i64 = strtoll(digits, NULL, 10)) < 0)
			o.type = MSGPACK_OBJECT_NEGATIVE_INTEGER;
		if (errno == 0)
			return push(r, o);
	}
	const char *kept = keep(r, p, n);
	if (kept == NULL)
		return starve(r);
	o = (msgpack_object){ .type = MSGPACK_OBJECT_EXT };
	o.via.ext.type = JSON_BIG;
	o.via.ext.size = (uint32_t)n;
	o.via.ext.ptr = kept;
	return push(r, o);
}

static int
on_number(void *arg, const char *p, size_t n)
{
	struct reader *r = arg;
	msgpack_object o = { .type = MSGPACK_OBJECT_FLOAT64 };

	if (memchr(p, '.', n) == NULL && memchr(p, 'e', n) == NULL && memchr(p, 'E', n) == NULL)
		return push_whole(r, p, n);
	char *copy = strndup(p, n);
	if (copy == NULL)
		return starve(r);
	o.via.f64 = strtod(copy, NULL);
	free(copy);
	if (!isfinite(o.via.f64)) {
		FAULT(r, "JSON has a number that no double holds: %s", log_escape(p, n < 40 ? n : 40));
		o.via.f64 = 0;
	}
	return push(r, o);
}

static int
on_string(void *arg, const unsigned char *p, size_t n)
{
	struct reader *r = arg;
	msgpack_object o = { .type = MSGPACK_OBJECT_STR };

	if (r->depth > LIM_JSON_DEPTH)
		return 1;
	o.via.str.size = (uint32_t)n;
	o.via.str.ptr = keep(r, (const char *)p, n);
	return o.via.str.ptr == NULL ? starve(r) : push(r, o);
}

static int
open_frame(struct reader *r, bool map)
{
	if (r->depth++ < LIM_JSON_DEPTH)
		r->frames[r->depth - 1] = (struct frame){ .first = r->used, .map = map, .kept = count(r) };
	else
		FAULT(r, "JSON is nested deeper than %d levels", LIM_JSON_DEPTH);
	return 1;
}

static int
on_start_map(void *arg)
{
	return open_frame(arg, true);
}

static int
on_start_array(void *arg)
{
	return open_frame(arg, false);
}

static int
by_text(const void *a, const void *b)
{
	const msgpack_object_str *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return memcmp(x->ptr, y->ptr, x->size);
}

/* Who reads the first and who reads the last of two would see different requests. */
static int
check_keys(struct reader *r, const msgpack_object_kv *v, size_t n)
{
	msgpack_object_str *keys = n > 1 ? reallocarray(NULL, n, sizeof(*keys)) : NULL;

	if (n < 2)
		return 1;
	if (keys == NULL)
		return starve(r);
	for (size_t i = 0; i < n; i++)
		keys[i] = v[i].key.via.str;
	qsort(keys, n, sizeof(*keys), by_text);
	for (size_t i = 1; i < n; i++)
		if (by_text(&keys[i - 1], &keys[i]) == 0) {
			FAULT(r, "JSON has the key '%s' twice", log_escape(keys[i].ptr, keys[i].size));
			break;
		}
	free(keys);
	return 1;
}

static int
end_map(struct reader *r, const struct frame *f, msgpack_object *o)
{
	size_t             n = (r->used - f->first) / 2;
	msgpack_object_kv *v = msgpack_zone_malloc(r->zone, n * sizeof(*v) + 1);

	if (v == NULL)
		return starve(r);
	for (size_t i = 0; i < n; i++) {
		v[i].key = r->stack[f->first + 2 * i];
		v[i].val = r->stack[f->first + 2 * i + 1];
	}
	o->type = MSGPACK_OBJECT_MAP;
	o->via.map.size = (uint32_t)n;
	o->via.map.ptr = v;
	return check_keys(r, v, n);
}

static int
end_array(struct reader *r, const struct frame *f, msgpack_object *o)
{
	size_t          n = r->used - f->first;
	msgpack_object *v = msgpack_zone_malloc(r->zone, n * sizeof(*v) + 1);

	if (v == NULL)
		return starve(r);
	if (n > 0)
		memcpy(v, r->stack + f->first, n * sizeof(*v));
	o->type = MSGPACK_OBJECT_ARRAY;
	o->via.array.size = (uint32_t)n;
	o->via.array.ptr = v;
	return 1;
}

static int
on_end(void *arg)
{
	struct reader *r = arg;
	msgpack_object o = { .type = MSGPACK_OBJECT_NIL };

	if (r->depth-- > LIM_JSON_DEPTH)
		return r->depth == LIM_JSON_DEPTH ? push(r, o) : 1; /* nil stands for all that was too deep */
	const struct frame *f = &r->frames[r->depth];
	if (!(f->map ? end_map : end_array)(r, f, &o))
		return 0;
	r->used = f->first;
	return f->kept ? put(r, o) : 1;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_map,
	.yajl_map_key = on_string,
	.yajl_end_map = on_end,
	.yajl_start_array = on_start_array,
	.yajl_end_array = on_end,
};

static long
hex4(const char *p)
{
	char digits[5] = { p[0], p[1], p[2], p[3], '\0' };

	return strtol(digits, NULL, 16);
}

/* yajl writes something for half a pair, and nobody could tell.  The text is JSON: a backslash is in a string. */
static void
check_surrogates(struct reader *r)
{
	const char *end = r->text + r->n;

	for (const char *p = r->text; (p = memchr(p, '\\', (size_t)(end - p))) != NULL; p += 2) {
		if (p[1] != 'u')
			continue;
		long c = hex4(p + 2);
		if (c < 0xd800 || c > 0xdfff)
			continue;
		if (c > 0xdbff || end - p < 12 || p[6] != '\\' || p[7] != 'u' || hex4(p + 8) < 0xdc00 ||
		    hex4(p + 8) > 0xdfff) {
			FAULT(r, "JSON has half a surrogate pair");
			return;
		}
		p += 6;
	}
}

/* Python writes and reads these; everybody else stops here, and its client shall not wait for nothing. */
static bool
is_nonfinite(const char *p, size_t n)
{
	static const char *const words[] = { "NaN", "Infinity", "-Infinity" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (n >= strlen(words[i]) && memcmp(p, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* Around the place where yajl gave up; it counts the byte, or two, that it did not like. */
static bool
stopped_at_nonfinite(const struct reader *r, size_t at)
{
	for (size_t back = 0; back <= 2 && back <= at; back++)
		if (at - back < r->n && is_nonfinite(r->text + at - back, r->n - at + back))
			return true;
	return false;
}

/* A key of the innermost map waits for its value. */
static bool
is_dangling(const struct reader *r)
{
	if (r->depth > LIM_JSON_DEPTH) /* what is that deep is not kept */
		return false;
	const struct frame *f = &r->frames[r->depth - 1];
	return f->map && (r->used - f->first) % 2 == 1;
}

/* What is open is ended, as if the text had been whole. */
static void
end_all(struct reader *r)
{
	while (r->depth > 0 && !r->starved) {
		if (is_dangling(r))
			on_null(r);
		on_end(r);
	}
}

static enum json_verdict
broken(struct reader *r, yajl_handle h)
{
	size_t at = yajl_get_bytes_consumed(h);

	if (r->starved)
		return JSON_BROKEN;
	if (r->depth > 0 && stopped_at_nonfinite(r, at)) {
		end_all(r);
		if (!r->starved && r->used == 1) {
			r->faulty = false;
			FAULT(r, "JSON has no NaN and no Infinity");
			return JSON_FAULTY;
		}
	}
	err_set(r->e, E_VALUE, "not JSON at byte %zu", at);
	return JSON_BROKEN;
}

static enum json_verdict
read_all(struct reader *r)
{
	yajl_handle h = yajl_alloc(&callbacks, NULL, r);

	if (h == NULL) {
		starve(r);
		return JSON_BROKEN;
	}
	yajl_config(h, yajl_dont_validate_strings, 1); /* done, and better: yajl takes surrogates */
	enum json_verdict v = JSON_GOOD;
	if (yajl_parse(h, (const unsigned char *)r->text, r->n) != yajl_status_ok ||
	    yajl_complete_parse(h) != yajl_status_ok)
		v = broken(r, h);
	else
		check_surrogates(r);
	yajl_free(h);
	return v == JSON_GOOD && r->faulty ? JSON_FAULTY : v;
}

enum json_verdict
json_parse(const char *text, size_t n, msgpack_zone *zone, msgpack_object *out, struct err *e)
{
	struct reader     r = { .text = text, .n = n, .zone = zone, .e = e };
	enum json_verdict v = JSON_BROKEN;

	*out = (msgpack_object){ .type = MSGPACK_OBJECT_NIL };
	if (!utf8_is_valid(text, n))
		err_set(e, E_VALUE, "not UTF-8");
	else if ((v = read_all(&r)) != JSON_BROKEN && r.used > 0)
		*out = r.stack[0];
	free(r.stack);
	return v;
}

const msgpack_object *
json_get(const msgpack_object *map, const char *key)
{
	if (map->type != MSGPACK_OBJECT_MAP)
		return NULL;
	for (size_t i = 0; i < map->via.map.size; i++)
		if (json_is(&map->via.map.ptr[i].key, key))
			return &map->via.map.ptr[i].val;
	return NULL;
}

bool
json_is(const msgpack_object *o, const char *text)
{
	return o->type == MSGPACK_OBJECT_STR && o->via.str.size == strlen(text) &&
	       memcmp(o->via.str.ptr, text, o->via.str.size) == 0;
}
