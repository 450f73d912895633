/*
 * jansson's tree becomes a tree of MessagePack objects, which the rest of this program reads; strings stay in
 * jansson's.  Numbers are read from the text itself: as no key comes twice, the tree has them in the order of the text.
 * Of a message with a fault only seq_id, code and action are looked for.
 */
#include "langbot/json.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/utf8.h"
#include "wire/jsontext.h"

struct reader {
	struct jsontext left; /* text behind the number that was read last */
	msgpack_zone   *zone;
};

/* ---- the tree --------------------------------------------------------------------------- */

static int convert(struct reader *, json_t *, msgpack_object *);

static int
convert_whole(const struct jsontext *t, msgpack_object *o)
{
	char digits[32] = { 0 };

	*o = (msgpack_object){ .type = MSGPACK_OBJECT_POSITIVE_INTEGER };
	if (t->n < sizeof(digits)) {
		memcpy(digits, t->p, t->n);
		errno = 0;
		if (*digits != '-')
			o->via.u64 = strtoull(digits, NULL, 10);
		else if ((o->via.i64 = strtoll(digits, NULL, 10)) < 0)
			o->type = MSGPACK_OBJECT_NEGATIVE_INTEGER;
		if (errno == 0)
			return 0;
	}
	o->type = MSGPACK_OBJECT_EXT;
	o->via.ext.type = JSON_BIG;
	o->via.ext.size = (uint32_t)t->n;
	o->via.ext.ptr = t->p;
	return 0;
}

static int
convert_number(struct reader *r, json_t *v, msgpack_object *o)
{
	struct jsontext number;

	for (char kind; (kind = jsontext_next(&r->left, &number)) != '0';)
		assert(kind != 0);
	if (json_is_integer(v))
		return convert_whole(&number, o);
	o->type = MSGPACK_OBJECT_FLOAT64;
	o->via.f64 = json_real_value(v);
	return 0;
}

static void
set_text(msgpack_object *o, const char *p, size_t n)
{
	o->type = MSGPACK_OBJECT_STR;
	o->via.str.ptr = p;
	o->via.str.size = (uint32_t)n;
}

static int
convert_array(struct reader *r, json_t *v, msgpack_object *o)
{
	size_t          n = json_array_size(v);
	msgpack_object *a = msgpack_zone_malloc(r->zone, n * sizeof(*a) + 1);

	o->type = MSGPACK_OBJECT_ARRAY;
	o->via.array.size = (uint32_t)n;
	o->via.array.ptr = a;
	for (size_t i = 0; a != NULL && i < n; i++)
		if (convert(r, json_array_get(v, i), &a[i]) == -1)
			return -1;
	return a == NULL ? -1 : 0;
}

static int
convert_map(struct reader *r, json_t *v, msgpack_object *o)
{
	msgpack_object_kv *kv = msgpack_zone_malloc(r->zone, json_object_size(v) * sizeof(*kv) + 1);

	o->type = MSGPACK_OBJECT_MAP;
	o->via.map.size = (uint32_t)json_object_size(v);
	o->via.map.ptr = kv;
	for (void *i = json_object_iter(v); kv != NULL && i != NULL; i = json_object_iter_next(v, i), kv++) {
		set_text(&kv->key, json_object_iter_key(i), strlen(json_object_iter_key(i)));
		if (convert(r, json_object_iter_value(i), &kv->val) == -1)
			return -1;
	}
	return kv == NULL ? -1 : 0;
}

/* -1: no memory. */
static int
convert(struct reader *r, json_t *v, msgpack_object *o)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return convert_map(r, v, o);
	case JSON_ARRAY:
		return convert_array(r, v, o);
	case JSON_STRING:
		set_text(o, json_string_value(v), json_string_length(v));
		return 0;
	case JSON_INTEGER:
	case JSON_REAL:
		return convert_number(r, v, o);
	case JSON_TRUE:
	case JSON_FALSE:
		*o = (msgpack_object){ .type = MSGPACK_OBJECT_BOOLEAN, .via.boolean = json_is_true(v) };
		return 0;
	case JSON_NULL:
		break;
	}
	*o = (msgpack_object){ .type = MSGPACK_OBJECT_NIL };
	return 0;
}

static void
drop(void *tree)
{
	json_decref(tree);
}

/* ---- whose it was ------------------------------------------------------------------------- */

/* The keys by which a message is answered. */
static const char *const owner_keys[] = { "seq_id", "code", "action" };

enum { OWNER_KEYS = sizeof(owner_keys) / sizeof(*owner_keys) };

/* One of them that is not known yet; NULL: none. */
static msgpack_object *
owner_place(msgpack_object *o, const struct jsontext *key)
{
	for (size_t i = 0; i < OWNER_KEYS; i++)
		if (jsontext_is(key, owner_keys[i]) && json_get(o, owner_keys[i]) == NULL) {
			assert(o->via.map.size < OWNER_KEYS); /* each comes once */
			msgpack_object_kv *kv = &o->via.map.ptr[o->via.map.size++];
			set_text(&kv->key, owner_keys[i], strlen(owner_keys[i]));
			kv->val = (msgpack_object){ .type = MSGPACK_OBJECT_NIL };
			return &kv->val;
		}
	return NULL;
}

/* The keys of an envelope, with their values unless these are containers or faulty themselves. */
static int
find_owner(const char *text, size_t n, msgpack_zone *zone, msgpack_object *o)
{
	struct jsontext left = { text, n }, t;
	msgpack_object *place = NULL;
	size_t          depth = 1;
	struct err      ignored;

	if (jsontext_next(&left, &t) != '{')
		return 0;
	*o = (msgpack_object){ .type = MSGPACK_OBJECT_MAP };
	if ((o->via.map.ptr = msgpack_zone_malloc(zone, OWNER_KEYS * sizeof(*o->via.map.ptr))) == NULL)
		return -1;
	for (char kind, before = '{'; (kind = jsontext_next(&left, &t)) != 0; before = kind) {
		const char *p = t.p - (kind == '"');

		assert(text <= p && p < left.p && left.p + left.n == text + n); /* a token is in the text */
		if (depth == 1 && before == ':' && place != NULL && strchr("\"0a", kind) != NULL)
			json_parse(p, (size_t)(left.p - p), zone, place, &ignored);
		else if (depth == 1 && before != ':' && kind == '"')
			place = owner_place(o, &t);
		depth += kind == '{' || kind == '[';
		depth -= kind == '}' || kind == ']';
	}
	return 0;
}

static enum json_verdict
starve(struct err *e)
{
	err_set(e, E_SYS, "no memory for a message");
	return JSON_BROKEN;
}

enum json_verdict
json_parse(const char *text, size_t n, msgpack_zone *zone, msgpack_object *out, struct err *e)
{
	struct reader       r = { { text, n }, zone };
	enum jsontext_fault fault;

	*out = (msgpack_object){ .type = MSGPACK_OBJECT_NIL };
	if (!utf8_is_valid(text, n)) {
		err_set(e, E_VALUE, "not UTF-8");
		return JSON_BROKEN;
	}
	json_t *tree = jsontext_load(text, n, JSON_REJECT_DUPLICATES, LIM_JSON_DEPTH, &fault, e);
	if (fault == JSONTEXT_MANY || fault == JSONTEXT_FAULTY)
		return find_owner(text, n, zone, out) == -1 ? starve(e) : JSON_FAULTY;
	if (tree == NULL)
		return JSON_BROKEN;
	if (!msgpack_zone_push_finalizer(zone, drop, tree)) {
		json_decref(tree);
		return starve(e);
	}
	return convert(&r, tree, out) == -1 ? starve(e) : JSON_GOOD;
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
