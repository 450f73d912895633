#include "coerce.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json.h"
#include "pytext.h"

enum {
	INT_DIGITS = 4300,   /* Python reads no longer ones */
	DOUBLE_DIGITS = 308, /* of a whole number that a double can hold */
};

static const struct misfit int_type = { "int_type", "Input should be a valid integer" };
static const struct misfit int_parsing = { "int_parsing",
	"Input should be a valid integer, unable to parse string as an integer" };
static const struct misfit int_size = { "int_parsing_size",
	"Unable to parse input string as an integer, exceeded maximum size" };
static const struct misfit int_fraction = { "int_from_float",
	"Input should be a valid integer, got a number with a fractional part" };
static const struct misfit not_finite = { "finite_number", "Input should be a finite number" };
static const struct misfit float_type = { "float_type", "Input should be a valid number" };
static const struct misfit float_parsing = { "float_parsing",
	"Input should be a valid number, unable to parse string as a number" };
static const struct misfit bool_type = { "bool_type", "Input should be a valid boolean" };
static const struct misfit bool_parsing = { "bool_parsing",
	"Input should be a valid boolean, unable to interpret input" };

/* ---- whole numbers ---------------------------------------------------------------- */

/* Digits with single underscores between them, of at most n bytes; how many bytes, or 0. */
static size_t
read_digits(const char *p, size_t n, wide *out)
{
	wide   v = 0;
	size_t i = 0;

	for (; i < n; i++) {
		if (p[i] == '_' && i > 0 && p[i - 1] != '_' && i + 1 < n && isdigit((unsigned char)p[i + 1]))
			continue;
		if (!isdigit((unsigned char)p[i]))
			break;
		v = v >= WIDE_MOST / 10 ? WIDE_MOST : v * 10 + (p[i] - '0');
	}
	*out = v;
	return i;
}

bool
text_int(const char *p, size_t n, wide *out)
{
	bool negative;

	p = rust_trim(p, &n);
	negative = n > 0 && *p == '-';
	if (n > 0 && (*p == '-' || *p == '+'))
		p++, n--;
	size_t used = read_digits(p, n, out);
	if (used == 0)
		return false;
	if (negative)
		*out = -*out;
	p += used, n -= used;
	if (n >= 2 && *p == '.')
		for (p++, n--; n > 0 && *p == '0'; p++, n--)
			;
	return n == 0;
}

static const struct misfit *
int_of_double(double v, wide *out)
{
	if (!isfinite(v))
		return &not_finite;
	if (v != floor(v))
		return &int_fraction;
	if (v >= 0x1p63 || v <= -0x1p63)
		return &int_size;
	*out = (wide)v;
	return NULL;
}

bool
strict_int(const msgpack_object *o, wide *out)
{
	if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
		*out = o->via.u64;
	else if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
		*out = o->via.i64;
	else if (o->type == MSGPACK_OBJECT_EXT && o->via.ext.type == JSON_BIG)
		*out = o->via.ext.ptr[0] == '-' ? -WIDE_MOST : WIDE_MOST;
	else
		return false;
	return true;
}

const struct misfit *
coerce_int(const msgpack_object *o, wide *out)
{
	if (strict_int(o, out))
		return NULL;
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		*out = o->via.boolean;
		return NULL;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return int_of_double(o->via.f64, out);
	case MSGPACK_OBJECT_STR:
		if (o->via.str.size > INT_DIGITS)
			return &int_size;
		return text_int(o->via.str.ptr, o->via.str.size, out) ? NULL : &int_parsing;
	default:
		return &int_type;
	}
}

/* ---- numbers ----------------------------------------------------------------------- */

/* Underscores between digits go; -1 when there is another, or more than a number needs. */
static int
without_underscores(const char *p, size_t n, char *out, size_t size)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '_' && i > 0 && i + 1 < n && isdigit((unsigned char)p[i - 1]) &&
		    isdigit((unsigned char)p[i + 1]))
			continue;
		if (p[i] == '_' || k + 1 == size)
			return -1;
		out[k++] = p[i];
	}
	out[k] = '\0';
	return 0;
}

static const struct misfit *
float_of_text(const char *p, size_t n, double *out)
{
	char  text[512], *end;
	char *word = text;

	p = rust_trim(p, &n);
	if (without_underscores(p, n, text, sizeof(text)) == -1 || memchr(p, '\0', n) != NULL)
		return &float_parsing;
	word += *word == '+' || *word == '-';
	bool named = strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0 || strcasecmp(word, "nan") == 0;
	if (!named && (*word == '\0' || strspn(word, "0123456789.eE+-") != strlen(word)))
		return &float_parsing; /* strtod would read hexadecimal too */
	*out = strtod(text, &end);
	return *end == '\0' && end != text ? NULL : &float_parsing;
}

const struct misfit *
coerce_float(const msgpack_object *o, double *out)
{
	wide v;

	if (strict_int(o, &v)) {
		*out = (double)v; /* of a larger one it is enough that it is larger than anything of ours */
		return o->type == MSGPACK_OBJECT_EXT && o->via.ext.size > DOUBLE_DIGITS ? &float_type : NULL;
	}
	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		*out = o->via.boolean;
		return NULL;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		*out = o->via.f64;
		return NULL;
	case MSGPACK_OBJECT_STR:
		return float_of_text(o->via.str.ptr, o->via.str.size, out);
	default:
		return &float_type;
	}
}

/* ---- truth ------------------------------------------------------------------------- */

static const struct misfit *
bool_of_text(const char *p, size_t n, bool *out)
{
	static const char *const words[][6] = {
		{ "false", "f", "no", "n", "off", "0" },
		{ "true", "t", "yes", "y", "on", "1" },
	};

	for (int v = 0; v < 2; v++)
		for (size_t i = 0; i < 6; i++)
			if (strlen(words[v][i]) == n && strncasecmp(words[v][i], p, n) == 0) {
				*out = v == 1;
				return NULL;
			}
	return &bool_parsing;
}

const struct misfit *
coerce_bool(const msgpack_object *o, bool *out)
{
	double v;
	wide   whole;

	switch (o->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		*out = o->via.boolean;
		return NULL;
	case MSGPACK_OBJECT_STR:
		return bool_of_text(o->via.str.ptr, o->via.str.size, out);
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		coerce_float(o, &v);
		if (int_of_double(v, &whole) != NULL)
			return &bool_type;
		*out = v == 1;
		return v == 0 || v == 1 ? NULL : &bool_parsing;
	default:
		return &bool_type;
	}
}
