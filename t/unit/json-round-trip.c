/* What json_parse takes comes out of json_write as it went in; what it does not take is named. */
#include "tap.h"
#include "workers/gateway/langbot/json.h"

/* The text printed again; NULL: not good. */
static char *
again(const char *text, size_t n, enum json_verdict *v, struct err *e)
{
	msgpack_zone   zone;
	msgpack_object o;
	struct buf     out = { 0 };

	msgpack_zone_init(&zone, 512);
	*v = json_parse(text, n, &zone, &o, e);
	if (*v == JSON_GOOD)
		json_write(&out, &o);
	buf_append(&out, "", 1);
	msgpack_zone_destroy(&zone);
	return out.data;
}

static void
becomes(const char *text, const char *want)
{
	struct err        e = { 0 };
	enum json_verdict v;
	char             *got = again(text, strlen(text), &v, &e);

	ok(v == JSON_GOOD, "%.60s is taken", text);
	is(got, want, "and printed");
	free(got);
}

static void
refused(const char *text, enum json_verdict want, const char *why)
{
	struct err        e = { 0 };
	enum json_verdict v;
	char             *got = again(text, strlen(text), &v, &e);

	ok(v == want, "%.40s: %s", text, want == JSON_FAULTY ? "faulty" : "broken");
	is(e.text, why, "because");
	free(got);
}

TEST(values)
{
	becomes("null", "null");
	becomes(" [ true,false , null ] ", "[true, false, null]");
	becomes("{}", "{}");
	becomes("[]", "[]");
	becomes("{\"b\":1,\"a\":[{}]}", "{\"b\": 1, \"a\": [{}]}");
	becomes("\"\"", "\"\"");
	becomes("{\"\":\"\"}", "{\"\": \"\"}");
}

TEST(numbers)
{
	becomes("0", "0");
	becomes("-1", "-1");
	becomes("18446744073709551615", "18446744073709551615");
	becomes("-9223372036854775808", "-9223372036854775808");
	becomes("18446744073709551616", "18446744073709551616");
	becomes("-9223372036854775809", "-9223372036854775809");
	becomes("123456789012345678901234567890123456789012345", "123456789012345678901234567890123456789012345");
	becomes("1.0", "1.0");
	becomes("0.5", "0.5");
	becomes("1e3", "1000.0");
	becomes("1E16", "1e+16");
	becomes("1e15", "1000000000000000.0");
	becomes("123456.789", "123456.789");
	becomes("0.1", "0.1");
	becomes("1e-4", "0.0001");
	becomes("1e-5", "1e-05");
	becomes("-0.0", "-0.0");
	becomes("1.7976931348623157e308", "1.7976931348623157e+308");
	becomes("5e-324", "5e-324");
	becomes("0.30000000000000004", "0.30000000000000004");
}

TEST(text)
{
	becomes("\"\\u00e9\\n\\t\\\"\\\\\\/\"", "\"\xc3\xa9\\n\\t\\\"\\\\/\"");
	becomes("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"");
	becomes("\"\xf0\x9f\x98\x80\"", "\"\xf0\x9f\x98\x80\"");
	becomes("\"a\\u0000b\"", "\"a\\u0000b\"");
	becomes("\"\\u001f\\b\\f\\r\"", "\"\\u001f\\b\\f\\r\"");
	becomes("\"?\"", "\"?\"");
	becomes("\"\\\\ud800\"", "\"\\\\ud800\"");
}

TEST(faults)
{
	refused("{\"a\":1,\"b\":2,\"a\":3}", JSON_FAULTY, "JSON has the key 'a' twice");
	refused("[{\"x\":{\"\\u0061\":1,\"a\":1}}]", JSON_FAULTY, "JSON has the key 'a' twice");
	refused("\"\\ud800\"", JSON_FAULTY, "JSON has half a surrogate pair");
	refused("\"\\udc00\\ud800\"", JSON_FAULTY, "JSON has half a surrogate pair");
	refused("[\"\\ud800\\u0041\"]", JSON_FAULTY, "JSON has half a surrogate pair");
	refused("1e999", JSON_FAULTY, "JSON has a number that no double holds: 1e999");
	refused("{\"a\":NaN}", JSON_FAULTY, "JSON has no NaN and no Infinity");
	refused("{\"a\":[1,{\"b\":-Infinity}]}", JSON_FAULTY, "JSON has no NaN and no Infinity");
	refused("{\"a\\u0000b\":1}", JSON_FAULTY, "embedded null byte");
	refused("[Infinity]", JSON_FAULTY, "JSON has no NaN and no Infinity");
}

TEST(broken)
{
	static const char *const texts[] = { "", " ", "{", "{bad", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "'a'", "01",
		"1.", ".5", "+1", "1 2", "[1]x", "tru", "nul", "\"a", "\"\t\"", "\"\\x\"", "\"\\u12\"", "[1,2", "/**/1",
		"NaN", "\xff", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf5\x80\x80\x80\"", "{\"a\":1",
		"\xef\xbb\xbf{}" };
	struct err               e;
	enum json_verdict        v;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		free(again(texts[i], strlen(texts[i]), &v, &e));
		ok(v == JSON_BROKEN, "%zu: %.20s is no JSON", i, texts[i]);
	}
	free(again("[1\0]", 4, &v, &e));
	ok(v == JSON_BROKEN, "nor with a NUL in it");
}

static void
deep(size_t levels, enum json_verdict want)
{
	char             *text = malloc(2 * levels + 1);
	struct err        e = { 0 };
	enum json_verdict v;

	memset(text, '[', levels);
	memset(text + levels, ']', levels);
	free(again(text, 2 * levels, &v, &e));
	ok(v == want, "%zu levels", levels);
	if (want == JSON_FAULTY)
		is(e.text, "JSON is nested deeper than 64 levels", "and why");
	free(text);
}

TEST(depth)
{
	deep(64, JSON_GOOD);
	deep(65, JSON_FAULTY);
	deep(100000, JSON_FAULTY);
}

/* Two faults at once: what is open, and not kept, is ended too. */
TEST(deep_nan)
{
	char              text[80 + 4];
	struct err        e = { 0 };
	enum json_verdict v;

	memset(text, '[', 80);
	strcpy(text + 80, "NaN");
	free(again(text, 83, &v, &e));
	ok(v == JSON_FAULTY, "NaN below 80 levels");
}

/* Too many of these; whose it was is still seen. */
static void
many(const char *more, const char *why)
{
	struct buf     text = { 0 };
	msgpack_zone   zone;
	msgpack_object o;
	struct err     e;

	buf_printf(&text, "{\"seq_id\":5,\"a\":[0");
	for (size_t i = 0; i < 1100000; i++)
		buf_append(&text, more, strlen(more));
	buf_printf(&text, "],\"b\":{\"c\":[1], \"seq_id\":6}}");
	msgpack_zone_init(&zone, 512);
	ok(json_parse(text.data, text.len, &zone, &o, &e) == JSON_FAULTY, "too many '%s' are refused", more);
	is(e.text, why, "in these words");
	const msgpack_object *seq = json_get(&o, "seq_id");
	ok(seq != NULL && seq->via.u64 == 5, "and the seq_id is known");
	msgpack_zone_destroy(&zone);
	buf_clear(&text);
}

TEST(many_values)
{
	many(",0", "JSON has more than 1048576 values");
	many(",{}", "JSON has more than 131072 arrays and objects");
}

/* What is told of a message that is not taken: its keys, and no other's. */
TEST(owner)
{
	static const char text[] = "{\"data\": {\"seq_id\": 1, \"x\": \"seq_id\"}, \"x\": \"action\", \"seq_id\": "
				   "123456789012345678901, \"y\": [[\"code\", {\"code\": 1}]], \"action\": "
				   "\"p\\u0069ng\", \"seq_id\": 2, \"z\": NaN}";
	msgpack_zone      zone;
	msgpack_object    o;
	struct err        e;
	struct buf        out = { 0 };

	msgpack_zone_init(&zone, 512);
	ok(json_parse(text, strlen(text), &zone, &o, &e) == JSON_FAULTY, "a message with a fault");
	json_write(&out, &o);
	buf_append(&out, "", 1);
	is(out.data, "{\"seq_id\": 123456789012345678901, \"action\": \"ping\"}", "whose it was");
	buf_clear(&out);
	msgpack_zone_destroy(&zone);
}
