/* What a field is tried with: numbers at the edges of every width, texts, and everything of another kind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "edges.h"
#include "wire/mp.h"

enum { HUGE_TEXT = 70000 /* over a packet, and over most fields */ };

/* As JSON; "@" and a letter: what is made, not written. */
static const char *const values[] = { "0", "-1", "1", "2147483647", "2147483648", "-2147483648", "4294967296",
	"9007199254740992", "9007199254740993", "4611686018427387904", "4611686018427387905", "-4611686018427387905",
	"9223372036854775807", "9223372036854775808", "9223372036854775809", "-9223372036854775808",
	"18446744073709551615", "18446744073709551616", "-9223372036854775809", "@9", "NaN", "Infinity", "-Infinity",
	"1e999", "1e308", "4.6e18", "1e19", "-0.0", "0.5", "-0.5", "\"\"", "\" \"", "\"edge\"", "\"1\"", "\"-1\"",
	"\"1e999\"", "\"NaN\"", "\"../..\"", "\"/\"", "@h", "\"a\\u0000b\"", "\"\\u0000\"", "\"\\ud800\"",
	"\"\\udc00x\"", "\"\\uffff\"", "null", "true", "false", "[]", "[null]", "[[]]", "[\"\"]", "[0]", "[{}]", "{}",
	"{\"\": null}", "{\"x\": {}}", "{\"mode\": 0}", "@d" };

int
edges_count(void)
{
	return (int)(sizeof(values) / sizeof(*values)) + 6; /* what only MessagePack has */
}

static int
common(void)
{
	return (int)(sizeof(values) / sizeof(*values));
}

static void
repeat(struct buf *b, const char *s, int n)
{
	while (n-- > 0)
		buf_append(b, s, strlen(s));
}

void
edge_json(struct buf *b, int edge)
{
	const char *v = edge < common() ? values[edge] : "null";

	if (*v != '@')
		buf_append(b, v, strlen(v));
	else if (v[1] == 'h') {
		buf_append(b, "\"", 1);
		repeat(b, "x", HUGE_TEXT);
		buf_append(b, "\"", 1);
	} else if (v[1] == '9')
		repeat(b, "9", 400);
	else {
		repeat(b, "[", 12);
		repeat(b, "]", 12);
	}
}

static void
pack_text(msgpack_packer *pk, size_t n)
{
	char *s = malloc(n + 1);

	memset(s, 'x', n);
	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, s, n);
	free(s);
}

/* JSON's own escapes, as far as values[] has them. */
static void
pack_escaped(msgpack_packer *pk, const char *s)
{
	char   out[64];
	size_t n = 0;

	for (s++; *s != '"'; s++) {
		if (*s != '\\') {
			out[n++] = *s;
			continue;
		}
		unsigned long c = strtoul((char[]){ s[2], s[3], s[4], s[5], '\0' }, NULL, 16);
		if (c >= 0x800) {
			out[n++] = (char)(0xe0 | c >> 12);
			out[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			out[n++] = (char)(0x80 | (c & 0x3f));
		} else
			out[n++] = (char)c;
		s += 5;
	}
	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, out, n);
}

static void
pack_number(msgpack_packer *pk, const char *v)
{
	if (strpbrk(v, ".eEyN") != NULL)
		msgpack_pack_double(pk, strtod(v, NULL));
	else if (*v == '-')
		msgpack_pack_int64(pk, strtoll(v, NULL, 10));
	else
		msgpack_pack_uint64(pk, strtoull(v, NULL, 10));
}

/* Beside its own table's edges: one under, one over; bytes and extensions, descriptors that never came. */
static void
pack_own(msgpack_packer *pk, const struct field *f, int which)
{
	static const unsigned char blob[17] = { 7 };
	bool                       counted = f->kind == K_STR || f->kind == K_LAX || f->kind == K_BLOB;

	switch (which) {
	case 0:
		msgpack_pack_int64(pk, f->least - (f->least > INT64_MIN));
		break;
	case 1:
		if (counted && f->most < MIB)
			pack_text(pk, f->most + 1);
		else
			msgpack_pack_uint64(pk, f->most + (f->most < UINT64_MAX));
		break;
	case 2:
		msgpack_pack_bin(pk, 3);
		msgpack_pack_bin_body(pk, "\0\xff\0", 3);
		break;
	case 3:
		msgpack_pack_ext(pk, sizeof(blob), 1);
		msgpack_pack_ext_body(pk, blob, sizeof(blob));
		break;
	case 4:
		msgpack_pack_ext(pk, 1, 2);
		msgpack_pack_ext_body(pk, "", 1);
		break;
	default:
		msgpack_pack_str(pk, 2);
		msgpack_pack_str_body(pk, "\xff\xc0", 2);
	}
}

static void
pack_nested(msgpack_packer *pk, const char *v)
{
	if (v[1] == 'd')
		for (int i = 0; i < 8; i++)
			msgpack_pack_array(pk, 1);
	if (v[0] == '{' && v[1] == '}') {
		msgpack_pack_map(pk, 0);
		return;
	}
	if (v[0] == '{') {
		msgpack_pack_map(pk, 1);
		pack_escaped(pk, v + 1);
		msgpack_pack_nil(pk);
		return;
	}
	msgpack_pack_array(pk, v[1] != ']' && v[1] != 'd');
	if (v[1] == 'n')
		msgpack_pack_nil(pk);
	else if (v[1] == '[')
		msgpack_pack_array(pk, 0);
	else if (v[1] == '"')
		msgpack_pack_str(pk, 0);
	else if (v[1] == '0')
		msgpack_pack_int(pk, 0);
	else if (v[1] == '{')
		msgpack_pack_map(pk, 0);
}

void
edge_pack(msgpack_packer *pk, const struct field *f, int edge)
{
	const char *v = edge < common() ? values[edge] : "";

	if (*v == '\0')
		pack_own(pk, f, edge - common());
	else if (strcmp(v, "@h") == 0)
		pack_text(pk, HUGE_TEXT);
	else if (strcmp(v, "@9") == 0)
		msgpack_pack_double(pk, 1e300);
	else if (*v == '[' || *v == '{' || *v == '@')
		pack_nested(pk, v);
	else if (*v == '"')
		pack_escaped(pk, v);
	else if (*v == 't')
		msgpack_pack_true(pk);
	else if (*v == 'f')
		msgpack_pack_false(pk);
	else if (*v == 'n')
		msgpack_pack_nil(pk);
	else
		pack_number(pk, v);
}
