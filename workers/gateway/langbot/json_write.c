/* Not jansson's writer: LangBot's clients get JSON as Python writes it, with its spaces and its floats. */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "langbot/json.h"
#include "python/pynum.h"

/* Nothing before it: the text begins, or an array, a map, a value after its key. */
static bool
is_first(const struct buf *b)
{
	return b->len == 0 || strchr("{[", b->data[b->len - 1]) != NULL;
}

void
json_open(struct buf *b, char bracket)
{
	buf_append(b, &bracket, 1);
}

void
json_close(struct buf *b, char bracket)
{
	buf_append(b, &bracket, 1);
}

void
json_item(struct buf *b)
{
	if (!is_first(b))
		buf_append(b, ", ", 2);
}

void
json_key(struct buf *b, const char *key)
{
	json_item(b);
	json_str(b, key);
	buf_append(b, ": ", 2);
}

static void
put_escape(struct buf *b, unsigned char c)
{
	static const char *const named[] = { ['\b'] = "\\b",
		['\t'] = "\\t",
		['\n'] = "\\n",
		['\f'] = "\\f",
		['\r'] = "\\r",
		['"'] = "\\\"",
		['\\'] = "\\\\" };

	if (c < sizeof(named) / sizeof(*named) && named[c] != NULL)
		buf_append(b, named[c], 2);
	else
		buf_printf(b, "\\u%04x", c);
}

/* Valid UTF-8, with what JSON does not take escaped. */
static void
put_escaped(struct buf *b, const char *p, size_t n)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		buf_append(b, p + good, i - good);
		put_escape(b, c);
		good = i + 1;
	}
	buf_append(b, p + good, n - good);
}

void
json_text(struct buf *b, const char *p, size_t n)
{
	struct buf clean = { 0 };

	buf_append(b, "\"", 1);
	if (utf8_is_valid(p, n))
		put_escaped(b, p, n);
	else {
		utf8_append(&clean, p, n);
		put_escaped(b, clean.data, clean.len);
		b->failed |= clean.failed;
		buf_clear(&clean);
	}
	buf_append(b, "\"", 1);
}

void
json_str(struct buf *b, const char *s)
{
	json_text(b, s, strlen(s));
}

void
json_u64(struct buf *b, uint64_t v)
{
	buf_printf(b, "%" PRIu64, v);
}

void
json_i64(struct buf *b, int64_t v)
{
	buf_printf(b, "%" PRId64, v);
}

void
json_f64(struct buf *b, double v)
{
	py_float(b, v);
}

static void
json_bool(struct buf *b, bool v)
{
	buf_append(b, v ? "true" : "false", v ? 4 : 5);
}

void
json_nil(struct buf *b)
{
	buf_append(b, "null", 4);
}

void
json_key_str(struct buf *b, const char *key, const char *v)
{
	json_key(b, key);
	json_str(b, v);
}

void
json_key_u64(struct buf *b, const char *key, uint64_t v)
{
	json_key(b, key);
	json_u64(b, v);
}

void
json_key_bool(struct buf *b, const char *key, bool v)
{
	json_key(b, key);
	json_bool(b, v);
}

static void
write_array(struct buf *b, const msgpack_object_array *a)
{
	json_open(b, '[');
	for (size_t i = 0; i < a->size; i++) {
		json_item(b);
		json_write(b, &a->ptr[i]);
	}
	json_close(b, ']');
}

static void
write_map(struct buf *b, const msgpack_object_map *m)
{
	json_open(b, '{');
	for (size_t i = 0; i < m->size; i++) {
		json_item(b);
		json_write(b, &m->ptr[i].key);
		buf_append(b, ": ", 2);
		json_write(b, &m->ptr[i].val);
	}
	json_close(b, '}');
}

void
json_write(struct buf *b, const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		json_bool(b, o->via.boolean);
		break;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		json_u64(b, o->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		json_i64(b, o->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		json_f64(b, o->via.f64);
		break;
	case MSGPACK_OBJECT_STR:
		json_text(b, o->via.str.ptr, o->via.str.size);
		break;
	case MSGPACK_OBJECT_EXT: /* JSON_BIG: no other comes out of json_parse */
		buf_append(b, o->via.ext.ptr, o->via.ext.size);
		break;
	case MSGPACK_OBJECT_ARRAY:
		write_array(b, &o->via.array);
		break;
	case MSGPACK_OBJECT_MAP:
		write_map(b, &o->via.map);
		break;
	default:
		json_nil(b);
		break;
	}
}
