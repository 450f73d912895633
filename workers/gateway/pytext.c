#include "pytext.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

struct range {
	uint32_t first, last;
};

static bool
in(const struct range *r, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}

#define IN(table, c) in(table, sizeof(table) / sizeof(*(table)), c)

/* ---- white space -------------------------------------------------------------- */

static const struct range spaces[] = {
	{ 0x09, 0x0d },
	{ 0x20, 0x20 },
	{ 0x85, 0x85 },
	{ 0xa0, 0xa0 },
	{ 0x1680, 0x1680 },
	{ 0x2000, 0x200a },
	{ 0x2028, 0x2029 },
	{ 0x202f, 0x202f },
	{ 0x205f, 0x205f },
	{ 0x3000, 0x3000 },
};

static bool
is_space(uint32_t c, bool python)
{
	return (python && c >= 0x1c && c <= 0x1f) || IN(spaces, c);
}

static const char *
trim(const char *p, size_t *n, bool python)
{
	const char *end = p + *n;
	uint32_t    c;

	while (p < end) {
		int len = utf8_next(p, (size_t)(end - p), &c);

		if (len < 0 || !is_space(c, python))
			break;
		p += len;
	}
	while (p < end) {
		const char *last = end - 1;

		while (last > p && ((unsigned char)*last & 0xc0) == 0x80)
			last--;
		if (utf8_next(last, (size_t)(end - last), &c) != end - last || !is_space(c, python))
			break;
		end = last;
	}
	*n = (size_t)(end - p);
	return p;
}

const char *
py_strip(const char *p, size_t *n)
{
	return trim(p, n, true);
}

const char *
rust_trim(const char *p, size_t *n)
{
	return trim(p, n, false);
}

/* ---- characters ------------------------------------------------------------------ */

size_t
py_prefix(const char *p, size_t n, size_t characters)
{
	size_t i = 0;

	for (; i < n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80 && characters-- == 0)
			break;
	return i;
}

size_t
py_len(const char *p, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += ((unsigned char)p[i] & 0xc0) != 0x80;
	return count;
}

bool
py_isalnum(const char *p, size_t n)
{
	/* marks, punctuation, symbols, and what nobody has given a meaning */
	static const struct range others[] = { { 0x80, 0xa9 }, { 0xab, 0xb1 }, { 0xb4, 0xb4 }, { 0xb6, 0xb8 },
		{ 0xbb, 0xbb }, { 0xbf, 0xbf }, { 0xd7, 0xd7 }, { 0xf7, 0xf7 }, { 0x300, 0x36f }, { 0x2000, 0x206f },
		{ 0x20a0, 0x20ff }, { 0x2190, 0x245f }, { 0x2500, 0x2bff }, { 0x3000, 0x3004 }, { 0x3008, 0x3020 },
		{ 0xd800, 0xf8ff }, { 0xfe00, 0xfe6f }, { 0xff00, 0xff0f }, { 0xff1a, 0xff20 }, { 0xff3b, 0xff40 },
		{ 0xff5b, 0xff65 }, { 0xffe0, 0xffff }, { 0x1f000, 0x1faff }, { 0xe0000, 0x10ffff } };
	uint32_t                  c;

	for (size_t i = 0; i < n;) {
		int len = utf8_next(p + i, n - i, &c);

		if (len < 0 || IN(others, c))
			return false;
		if (c < 0x80 && !((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
			return false;
		i += (size_t)len;
	}
	return n > 0;
}

/* ---- repr ------------------------------------------------------------------------- */

enum { REPR_TAIL = 64, REPR_LAST = 4 };           /* who wants a part of it wants both ends: bytes, and entries */
enum { FIRST_EXPONENT = 16, LAST_NEGATIVE = -4 }; /* from where on repr() has an exponent */

/* The shortest digits that read back as the same number; exponent of the first. */
static int
shortest(double v, char digits[32])
{
	char text[40];

	for (int more = 0; more <= 16; more++) {
		snprintf(text, sizeof(text), "%.*e", more, v);
		if (strtod(text, NULL) == v)
			break;
	}
	char *e = strchr(text, 'e');
	int   n = 0;
	for (const char *p = text; p < e; p++)
		if (*p != '.')
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	return (int)strtol(e + 1, NULL, 10);
}

static void
put_plain(struct buf *b, const char *digits, int exponent)
{
	int n = (int)strlen(digits);

	if (exponent < 0)
		buf_printf(b, "0.%.*s%s", -exponent - 1, "0000", digits);
	else if (n <= exponent + 1)
		buf_printf(b, "%s%.*s.0", digits, exponent + 1 - n, "0000000000000000");
	else
		buf_printf(b, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

void
py_float(struct buf *b, double v)
{
	char digits[32] = "";

	if (!isfinite(v)) {
		buf_printf(b, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
		return;
	}
	if (signbit(v))
		buf_append(b, "-", 1);
	int exponent = shortest(fabs(v), digits);
	if (exponent >= LAST_NEGATIVE && exponent < FIRST_EXPONENT)
		put_plain(b, digits, exponent);
	else
		buf_printf(b, "%c%s%se%c%02d", digits[0], digits[1] != '\0' ? "." : "", digits + 1,
		    exponent < 0 ? '-' : '+', abs(exponent));
}

static bool
is_printable(uint32_t c)
{
	static const struct range hidden[] = { { 0x00, 0x1f }, { 0x7f, 0xa0 }, { 0xad, 0xad }, { 0x600, 0x605 },
		{ 0x61c, 0x61c }, { 0x1680, 0x1680 }, { 0x180e, 0x180e }, { 0x2000, 0x200f }, { 0x2028, 0x202f },
		{ 0x205f, 0x206f }, { 0x3000, 0x3000 }, { 0xd800, 0xf8ff }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb },
		{ 0xfffe, 0xffff }, { 0xe0000, 0x10ffff } };

	return !IN(hidden, c);
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
