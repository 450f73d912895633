/*
 * JSON of anybody: what is taken is printed, read again and printed again, and both prints are the same; what is not
 * taken has a reason.  Also str() and every coercion, which see the same values.
 */
#include "base/utf8.h"
#include "fuzz.h"
#include "python/pystr.h"
#include "workers/gateway/langbot/coerce.h"
#include "workers/gateway/langbot/json.h"
#include "workers/gateway/langbot/pytext.h"

static void
coerce_all(const msgpack_object *o)
{
	wide       w;
	double     d;
	bool       b;
	uint64_t   us;
	struct buf text = { 0 };

	coerce_int(o, &w);
	coerce_float(o, &d);
	coerce_bool(o, &b);
	coerce_time(o, &us);
	py_str(&text, o);
	must(utf8_is_valid(text.data, text.len));
	if (o->type == MSGPACK_OBJECT_STR) {
		size_t n = o->via.str.size;

		py_strip(o->via.str.ptr, &n);
		must(n <= o->via.str.size);
	}
	for (size_t i = 0; o->type == MSGPACK_OBJECT_ARRAY && i < o->via.array.size; i++)
		coerce_all(&o->via.array.ptr[i]);
	buf_clear(&text);
}

static enum json_verdict
print(const char *text, size_t n, struct buf *out)
{
	struct err     e = { 0 };
	msgpack_zone   zone;
	msgpack_object o;

	msgpack_zone_init(&zone, 512);
	enum json_verdict v = json_parse(text, n, &zone, &o, &e);
	must((v == JSON_GOOD) == (e.code == E_NONE));
	must(v == JSON_GOOD || e.text[0] != '\0');
	if (v == JSON_GOOD)
		coerce_all(&o);
	if (v != JSON_BROKEN)
		json_write(out, &o);
	must(utf8_is_valid(out->data, out->len)); /* also of a faulty one: its seq_id is told */
	msgpack_zone_destroy(&zone);
	return v;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf first = { 0 }, second = { 0 };
	char      *copy = malloc(n > 0 ? n : 1);

	if (n > 0)
		memcpy(copy, p, n);
	if (print(copy, n, &first) == JSON_GOOD) {
		must(print(first.data, first.len, &second) == JSON_GOOD);
		must(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	}
	buf_clear(&first);
	buf_clear(&second);
	free(copy);
	return 0;
}
