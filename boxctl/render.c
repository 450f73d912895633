#include "render.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "text.h"

/* ---- JSON ---- */

json_t *
render_json_string(const char *s)
{
	struct buf clean = { 0 };
	json_t    *o;

	utf8_append(&clean, s, strlen(s));
	o = json_stringn(clean.data ? clean.data : "", clean.len);
	buf_clear(&clean);
	return o;
}

/* Output is bytes, JSON is characters: what was lost on the way is marked. */
static void
add_blob(json_t *to, const char *name, const struct blob *b)
{
	struct buf clean = { 0 };
	char       mark[64];

	bool valid = b->data == NULL || utf8_append(&clean, b->data, b->len);
	json_object_set_new(to, name, json_stringn(clean.data ? clean.data : "", clean.len));
	buf_clear(&clean);
	if (valid)
		return;
	snprintf(mark, sizeof(mark), "%s_invalid_utf8", name);
	json_object_set_new(to, mark, json_boolean(true));
}

static json_t *
json_list(enum msg_type sub, const struct list *l)
{
	json_t *array = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(array, render_json(sub, (const char *)l->v + i * msg_def(sub)->size));
	return array;
}

static json_t *
json_strs(const struct strs *s)
{
	json_t *array = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(array, render_json_string(s->v[i]));
	return array;
}

static json_t *
json_pairs(const struct pairs *s)
{
	json_t *map = json_object();

	for (size_t i = 0; i < s->n; i++) {
		json_t *name = render_json_string(s->v[i].name);

		json_object_set_new(map, json_string_value(name), render_json_string(s->v[i].value));
		json_decref(name);
	}
	return map;
}

/* jansson's whole numbers are signed. */
static json_t *
json_u64(uint64_t v)
{
	return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

/* A whole number is shown as one: 1, not 1.0. */
static json_t *
json_f64(double v)
{
	return v == trunc(v) && fabs(v) < 1e15 ? json_integer((json_int_t)v) : json_real(v);
}

static int
enum_at(const void *at)
{
	int v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static json_t *
json_lax(const struct lax *l)
{
	switch (l->kind) {
	case LAX_BOOL:
		return json_boolean(l->boolean);
	case LAX_INT:
		return json_integer(l->number);
	case LAX_FLOAT:
		return json_real(l->real);
	case LAX_STR:
		return render_json_string(l->text);
	case LAX_NONE:
		break;
	}
	return json_null();
}

static json_t *
json_value(const struct field *f, const void *at)
{
	struct list list;

	switch (f->kind) {
	case K_U64:
		return json_u64(*(const uint64_t *)at);
	case K_I64:
		return json_integer(*(const int64_t *)at);
	case K_F64:
		return json_f64(*(const double *)at);
	case K_BOOL:
		return json_boolean(*(const bool *)at);
	case K_STR:
		return render_json_string(*(const char *const *)at);
	case K_STRS:
		return json_strs(at);
	case K_PAIRS:
		return json_pairs(at);
	case K_ENUM:
		return json_string(f->names[enum_at(at)]);
	case K_LAX:
		return json_lax(at);
	case K_OBJ:
		return render_json(f->sub, at);
	case K_LIST:
		memcpy(&list, at, sizeof(list));
		return json_list(f->sub, &list);
	case K_BLOB:
	case K_FD:
		break;
	}
	return json_null();
}

json_t *
render_json(enum msg_type t, const void *body)
{
	json_t *o = json_object();

	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++) {
		const char *at = (const char *)body + f->offset;

		if (f->kind == K_BLOB)
			add_blob(o, f->name, (const struct blob *)at);
		else if (f->kind != K_FD && f->sub != MSG_DETAIL)
			json_object_set_new(o, f->name, json_value(f, at));
	}
	return o;
}

void
render_print_json(json_t *o)
{
	/* with 17 digits, which it takes by itself, a tenth is 0.10000000000000001 */
	json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
	putchar('\n');
	json_decref(o);
}

/* ---- lines ---- */

/* Units are the last part of a field's name; people get the number with its unit instead. */
enum unit { NONE, SIZE_B, SIZE_MB, TIME_US, TIME_MS, TIME_S, SINCE_MS };

static enum unit
unit_of(const struct field *f, size_t *stem)
{
	static const struct {
		const char *suffix;
		enum unit   unit;
	} units[] = { { "_bytes", SIZE_B }, { "_mb", SIZE_MB }, { "_us", TIME_US }, { "_ms", TIME_MS },
		{ "_sec", TIME_S } };
	size_t n = strlen(f->name);

	*stem = n;
	for (size_t i = 0; f->kind == K_U64 && i < sizeof(units) / sizeof(*units); i++) {
		size_t len = strlen(units[i].suffix);

		if (n <= len || strcmp(f->name + n - len, units[i].suffix) != 0)
			continue;
		*stem = n - len;
		/* a moment and a span look alike but for what the table says of them */
		return units[i].unit == TIME_MS && strcmp(f->doc, "since the epoch") == 0 ? SINCE_MS : units[i].unit;
	}
	return NONE;
}

/* "worker_restarts" is "worker restarts", "memory_mb" is "memory". */
static void
label_of(char *out, size_t size, const struct field *f)
{
	size_t stem;

	unit_of(f, &stem);
	snprintf(out, size, "%.*s", (int)stem, f->name);
	for (char *p = out; *p != '\0'; p++)
		if (*p == '_')
			*p = ' ';
}

static void
print_number(const struct field *f, uint64_t v)
{
	size_t stem;

	switch (unit_of(f, &stem)) {
	case NONE:
		printf("%lu\n", v);
		break;
	case SIZE_B:
		printf("%s\n", text_size(v));
		break;
	case SIZE_MB:
		printf("%s\n", text_size(v * MIB));
		break;
	case TIME_US:
		printf("%s\n", text_duration(v));
		break;
	case TIME_MS:
		printf("%s\n", text_duration(v * 1000));
		break;
	case TIME_S:
		printf("%s\n", text_duration(v * 1000000));
		break;
	case SINCE_MS:
		printf("%s%s\n", v == 0 ? "-" : text_duration(text_age_us(v)), v == 0 ? "" : " ago");
		break;
	}
}

enum colour
render_state_colour(enum state s)
{
	return s == STATE_READY ? GREEN : YELLOW;
}

enum colour
render_tier_colour(enum tier t)
{
	return t == TIER_FULL ? GREEN : t == TIER_REDUCED ? YELLOW : RED;
}

static void
print_enum(const struct field *f, int v)
{
	enum colour c = PLAIN;

	if (strcmp(f->name, "state") == 0)
		c = render_state_colour((enum state)v);
	else if (strcmp(f->name, "tier") == 0)
		c = render_tier_colour((enum tier)v);
	printf("%s%s%s\n", colour_on(c), f->names[v], colour_off(c));
}

static bool
are_words(const struct strs *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (strchr(s->v[i], ' ') != NULL)
			return false;
	return true;
}

/* Words stand in one line, sentences below each other. */
static void
print_strs(const struct strs *s, int indent)
{
	if (s->n == 0)
		printf("none\n");
	if (are_words(s)) {
		for (size_t i = 0; i < s->n; i++)
			printf("%s%s", text_safe(s->v[i]), i + 1 < s->n ? ", " : "\n");
		return;
	}
	for (size_t i = 0; i < s->n; i++)
		printf("%*s%s\n", i == 0 ? 0 : indent, "", text_safe(s->v[i]));
}

/* Lists and bytes have no line; those who show them have a table or a stream. */
static void
print_value(const struct field *f, const void *at, int indent)
{
	const char *s;

	switch (f->kind) {
	case K_U64:
		print_number(f, *(const uint64_t *)at);
		break;
	case K_I64:
		printf("%ld\n", *(const int64_t *)at);
		break;
	case K_F64:
		printf("%s\n", text_double(*(const double *)at));
		break;
	case K_BOOL:
		printf("%s\n", *(const bool *)at ? "yes" : "no");
		break;
	case K_STR:
		s = *(const char *const *)at;
		printf("%s\n", s[0] != '\0' ? text_safe(s) : "-");
		break;
	case K_ENUM:
		print_enum(f, enum_at(at));
		break;
	case K_STRS:
		print_strs(at, indent);
		break;
	default:
		printf("\n");
	}
}

static size_t
label_width(const struct field *fields)
{
	char   label[64];
	size_t widest = 0;

	for (const struct field *f = fields; f->name != NULL; f++) {
		label_of(label, sizeof(label), f);
		if (f->kind != K_OBJ && strlen(label) > widest)
			widest = strlen(label);
	}
	return widest;
}

/* Each of them numbered, and indented below its number; nothing is said of an empty list. */
static void
print_list(const struct field *f, const char *label, const void *at, int indent)
{
	struct list list;

	memcpy(&list, at, sizeof(list));
	if (list.n > 0)
		printf("%*s%s\n", indent, "", label);
	for (size_t i = 0; i < list.n; i++) {
		printf("%*s%zu:\n", indent + 2, "", i + 1);
		render_lines(f->sub, (const char *)list.v + i * msg_def(f->sub)->size, indent + 4);
	}
}

void
render_lines(enum msg_type t, const void *body, int indent)
{
	const struct field *fields = msg_def(t)->fields;
	int                 width = (int)label_width(fields) + 2;
	char                label[64];

	for (const struct field *f = fields; f->name != NULL; f++) {
		const char *at = (const char *)body + f->offset;

		if (f->sub == MSG_DETAIL) /* no client gets it */
			continue;
		label_of(label, sizeof(label) - 1, f);
		strcat(label, ":");
		if (f->kind == K_OBJ) {
			printf("%*s%s\n", indent, "", label);
			render_lines(f->sub, at, indent + 2);
		} else if (f->kind == K_LIST) {
			print_list(f, label, at, indent);
		} else if (f->kind != K_BLOB && f->kind != K_FD) {
			printf("%*s%-*s", indent, "", width, label);
			print_value(f, at, indent + width);
		}
	}
}
