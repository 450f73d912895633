#include "langbot/pytext.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "python/pynum.h"

bool
py_isalnum(const char *p, size_t n)
{
	uint32_t c;

	for (size_t i = 0; i < n;) {
		int len = utf8_next(p + i, n - i, &c);

		if (len < 0 || !py_is_alnum(c))
			return false;
		i += (size_t)len;
	}
	return n > 0;
}

/* ---- repr ------------------------------------------------------------------------- */

enum { REPR_TAIL = 64, REPR_LAST = 4 }; /* who wants a part of it wants both ends: bytes, and entries */

static bool
is_printable(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = { { 0x00, 0x1f }, { 0x7f, 0xa0 }, { 0xad, 0xad }, { 0x600, 0x605 }, { 0x61c, 0x61c },
		{ 0x1680, 0x1680 }, { 0x180e, 0x180e }, { 0x2000, 0x200f }, { 0x2028, 0x202f }, { 0x205f, 0x206f },
		{ 0x3000, 0x3000 }, { 0xd800, 0xf8ff }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb }, { 0xfffe, 0xffff },
		{ 0xe0000, 0x10ffff } };

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return false;
	return true;
}

static void
repr_char(struct buf *b, uint32_t c, const char *bytes, int len, char quote)
{
	if (c == (uint32_t)quote || c == '\\')
		buf_printf(b, "\\%c", (int)c);
	else if (c == '\n' || c == '\r' || c == '\t')
		buf_append(b, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", 2);
	else if (is_printable(c))
		buf_append(b, bytes, (size_t)len);
	else
		buf_printf(b, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

static void
repr_text(struct buf *b, const char *p, size_t n, size_t stop)
{
	char     quote = memchr(p, '\'', n) != NULL && memchr(p, '"', n) == NULL ? '"' : '\'';
	uint32_t c;

	buf_append(b, &quote, 1);
	for (size_t i = 0; i < n;) {
		int len = utf8_next(p + i, n - i, &c);

		len = abs(len);
		if (b->len >= stop && n - i > REPR_TAIL) {
			i = n - REPR_TAIL;
			while (i < n && ((unsigned char)p[i] & 0xc0) == 0x80)
				i++;
			continue;
		}
		repr_char(b, c, p + i, len, quote);
		i += (size_t)len;
	}
	buf_append(b, &quote, 1);
}

static void repr(struct buf *, const msgpack_object *, size_t stop);

/* The next entry of n to be printed. */
static size_t
next_entry(const struct buf *b, size_t i, size_t n, size_t stop)
{
	return b->len >= stop && n - i > REPR_LAST ? n - REPR_LAST : i;
}

static void
repr_array(struct buf *b, const msgpack_object_array *a, size_t stop)
{
	buf_append(b, "[", 1);
	for (size_t i = 0; i < a->size; i = next_entry(b, i + 1, a->size, stop)) {
		if (i > 0)
			buf_append(b, ", ", 2);
		repr(b, &a->ptr[i], stop);
	}
	buf_append(b, "]", 1);
}

static void
repr_map(struct buf *b, const msgpack_object_map *m, size_t stop)
{
	buf_append(b, "{", 1);
	for (size_t i = 0; i < m->size; i = next_entry(b, i + 1, m->size, stop)) {
		if (i > 0)
			buf_append(b, ", ", 2);
		repr(b, &m->ptr[i].key, stop);
		buf_append(b, ": ", 2);
		repr(b, &m->ptr[i].val, stop);
	}
	buf_append(b, "}", 1);
}

static void
repr(struct buf *b, const msgpack_object *o, size_t stop)
{
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		buf_printf(b, o->via.boolean ? "True" : "False");
		break;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		buf_printf(b, "%" PRIu64, o->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		buf_printf(b, "%" PRId64, o->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		py_float(b, o->via.f64);
		break;
	case MSGPACK_OBJECT_STR:
		repr_text(b, o->via.str.ptr, o->via.str.size, stop);
		break;
	case MSGPACK_OBJECT_EXT:
		buf_append(b, o->via.ext.ptr, o->via.ext.size);
		break;
	case MSGPACK_OBJECT_ARRAY:
		repr_array(b, &o->via.array, stop);
		break;
	case MSGPACK_OBJECT_MAP:
		repr_map(b, &o->via.map, stop);
		break;
	default:
		buf_printf(b, "None");
		break;
	}
}

void
py_repr(struct buf *b, const msgpack_object *o, size_t most)
{
	repr(b, o, most > SIZE_MAX - b->len ? SIZE_MAX : b->len + most);
}

void
py_str(struct buf *b, const msgpack_object *o, size_t most)
{
	if (o->type == MSGPACK_OBJECT_STR)
		buf_append(b, o->via.str.ptr, o->via.str.size);
	else
		py_repr(b, o, most);
}

bool
py_truth(const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		return o->via.boolean;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		return o->via.u64 != 0;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return o->via.f64 != 0;
	case MSGPACK_OBJECT_STR:
		return o->via.str.size > 0;
	case MSGPACK_OBJECT_ARRAY:
		return o->via.array.size > 0;
	case MSGPACK_OBJECT_MAP:
		return o->via.map.size > 0;
	case MSGPACK_OBJECT_NIL:
		return false;
	default:
		return true;
	}
}

const char *
py_type(const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		return "bool";
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
	case MSGPACK_OBJECT_EXT:
		return "int";
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return "float";
	case MSGPACK_OBJECT_STR:
		return "str";
	case MSGPACK_OBJECT_ARRAY:
		return "list";
	case MSGPACK_OBJECT_MAP:
		return "dict";
	default:
		return "NoneType";
	}
}
