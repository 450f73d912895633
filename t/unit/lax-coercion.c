/* LangBot's rules for numbers, truth and moments, row by row: what is taken for what, and what it is called if not. */
#include <math.h>
#include <string.h>

#include "tap.h"
#include "workers/gateway/langbot/coerce.h"
#include "workers/gateway/langbot/json.h"
#include "workers/gateway/langbot/pytext.h"

static msgpack_zone zone;

static msgpack_object
value(const char *json)
{
	msgpack_object o;
	struct err     e;

	if (json_parse(json, strlen(json), &zone, &o, &e) != JSON_GOOD)
		BAIL_OUT("%s: %s", json, e.text);
	return o;
}

static void
test_int(void)
{
	static const struct {
		const char *json;
		long long   v;
		const char *misfit;
	} rows[] = {
		{ "999", 999, NULL },
		{ "-3", -3, NULL },
		{ "999.0", 999, NULL },
		{ "true", 1, NULL },
		{ "false", 0, NULL },
		{ "\"999\"", 999, NULL },
		{ "\" 12 \"", 12, NULL },
		{ "\"12\\u3000\"", 12, NULL },
		{ "\"+5\"", 5, NULL },
		{ "\"-5\"", -5, NULL },
		{ "\"0012\"", 12, NULL },
		{ "\"1_000\"", 1000, NULL },
		{ "\"999.0\"", 999, NULL },
		{ "\"1_0.00\"", 10, NULL },
		{ "1e15", 1000000000000000, NULL },
		{ "\"1e3\"", 0, "int_parsing" },
		{ "\"0x10\"", 0, "int_parsing" },
		{ "\"\"", 0, "int_parsing" },
		{ "\"30.5\"", 0, "int_parsing" },
		{ "\"999.\"", 0, "int_parsing" },
		{ "\".0\"", 0, "int_parsing" },
		{ "\"_1\"", 0, "int_parsing" },
		{ "\"1_\"", 0, "int_parsing" },
		{ "\"1__0\"", 0, "int_parsing" },
		{ "\"1.0_0\"", 0, "int_parsing" },
		{ "\"--1\"", 0, "int_parsing" },
		{ "\"+ 5\"", 0, "int_parsing" },
		{ "\"\\u001c5\"", 0, "int_parsing" },
		{ "\"\xd9\xa3\"", 0, "int_parsing" },
		{ "30.5", 0, "int_from_float" },
		{ "1e20", 0, "int_parsing_size" },
		{ "null", 0, "int_type" },
		{ "[]", 0, "int_type" },
		{ "{}", 0, "int_type" },
	};
	wide v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		msgpack_object       o = value(rows[i].json);
		const struct misfit *m = coerce_int(&o, &v);

		if (rows[i].misfit == NULL)
			ok(m == NULL && v == rows[i].v, "int of %s is %lld", rows[i].json, rows[i].v);
		else
			is(m != NULL ? m->type : "taken", rows[i].misfit, "int of %s", rows[i].json);
	}
	msgpack_object big = value("1000000000000000000000000000000"),
		       small = value("-1000000000000000000000000000000");
	ok(coerce_int(&big, &v) == NULL && v == WIDE_MOST, "a number of 31 digits is the largest");
	ok(coerce_int(&small, &v) == NULL && v == -WIDE_MOST, "or the smallest");
}

static void
test_float(void)
{
	static const struct {
		const char *json;
		double      v;
		const char *misfit;
	} rows[] = {
		{ "1", 1, NULL },
		{ "0.5", 0.5, NULL },
		{ "true", 1, NULL },
		{ "\".5\"", 0.5, NULL },
		{ "\"5.\"", 5, NULL },
		{ "\"1_0\"", 10, NULL },
		{ "\" 1e3 \"", 1000, NULL },
		{ "\"-1E+2\"", -100, NULL },
		{ "\"inf\"", INFINITY, NULL },
		{ "\"-Infinity\"", -INFINITY, NULL },
		{ "\"\"", 0, "float_parsing" },
		{ "\"0x1\"", 0, "float_parsing" },
		{ "\"nan(1)\"", 0, "float_parsing" },
		{ "\"1__0\"", 0, "float_parsing" },
		{ "\".\"", 0, "float_parsing" },
		{ "\"e5\"", 0, "float_parsing" },
		{ "\"1e\"", 0, "float_parsing" },
		{ "null", 0, "float_type" },
		{ "[]", 0, "float_type" },
	};
	double v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		msgpack_object       o = value(rows[i].json);
		const struct misfit *m = coerce_float(&o, &v);

		if (rows[i].misfit == NULL)
			ok(m == NULL && v == rows[i].v, "float of %s is %g", rows[i].json, rows[i].v);
		else
			is(m != NULL ? m->type : "taken", rows[i].misfit, "float of %s", rows[i].json);
	}
	msgpack_object nan = value("\"nan\"");
	ok(coerce_float(&nan, &v) == NULL && isnan(v), "nan is a float");
}

static void
test_bool(void)
{
	static const struct {
		const char *json;
		bool        v;
		const char *misfit;
	} rows[] = {
		{ "true", true, NULL },
		{ "false", false, NULL },
		{ "1", true, NULL },
		{ "0", false, NULL },
		{ "1.0", true, NULL },
		{ "0.0", false, NULL },
		{ "\"TRUE\"", true, NULL },
		{ "\"t\"", true, NULL },
		{ "\"Yes\"", true, NULL },
		{ "\"y\"", true, NULL },
		{ "\"oN\"", true, NULL },
		{ "\"1\"", true, NULL },
		{ "\"False\"", false, NULL },
		{ "\"F\"", false, NULL },
		{ "\"no\"", false, NULL },
		{ "\"N\"", false, NULL },
		{ "\"off\"", false, NULL },
		{ "\"0\"", false, NULL },
		{ "2", false, "bool_parsing" },
		{ "-1", false, "bool_parsing" },
		{ "0.5", false, "bool_type" },
		{ "\"\"", false, "bool_parsing" },
		{ "\" true \"", false, "bool_parsing" },
		{ "null", false, "bool_type" },
		{ "[]", false, "bool_type" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool                 v = !rows[i].v;
		msgpack_object       o = value(rows[i].json);
		const struct misfit *m = coerce_bool(&o, &v);

		if (rows[i].misfit == NULL)
			ok(m == NULL && v == rows[i].v, "bool of %s", rows[i].json);
		else
			is(m != NULL ? m->type : "taken", rows[i].misfit, "bool of %s", rows[i].json);
	}
}

static void
test_time(void)
{
	static const struct {
		const char *json;
		uint64_t    us;
		const char *misfit;
	} rows[] = {
		{ "\"2026-11-15T23:45:59.831204+00:00\"", 1794786359831204, NULL },
		{ "\"2026-11-15T23:45:59Z\"", 1794786359000000, NULL },
		{ "\"2026-11-15 23:45Z\"", 1794786300000000, NULL },
		{ "\"2026-11-16t01:45:59+02:00\"", 1794786359000000, NULL },
		{ "\"2026-11-15T21:15:59-02:30\"", 1794786359000000, NULL },
		{ "1794786359", 1794786359000000, NULL },
		{ "1794786359.5", 1794786359500000, NULL },
		{ "1794786359500", 1794786359500000, NULL },
		{ "\"1794786359\"", 1794786359000000, NULL },
		{ "\"1960-01-01T00:00:00Z\"", 0, NULL },
		{ "-5", 0, NULL },
		{ "\"2026-11-15T23:45:59\"", 0, "value_error" },
		{ "\"2026-11-15\"", 0, "value_error" },
		{ "\"2026-02-29T00:00:00Z\"", 0, "datetime_from_date_parsing" },
		{ "\"2026-11-15T24:00:00Z\"", 0, "datetime_from_date_parsing" },
		{ "\"2026-11-15T23:45:59Zx\"", 0, "datetime_from_date_parsing" },
		{ "\"tomorrow\"", 0, "datetime_from_date_parsing" },
		{ "\"\"", 0, "datetime_from_date_parsing" },
		{ "1e300", 0, "datetime_from_date_parsing" },
		{ "true", 0, "datetime_type" },
		{ "null", 0, "datetime_type" },
	};
	uint64_t us;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		msgpack_object       o = value(rows[i].json);
		const struct misfit *m = coerce_time(&o, &us);

		if (rows[i].misfit == NULL)
			ok(m == NULL && us == rows[i].us, "the moment %s", rows[i].json);
		else
			is(m != NULL ? m->type : "taken", rows[i].misfit, "the moment %s", rows[i].json);
	}
}

static void
test_strip(void)
{
	static const char text[] = "\t\n\v\f\r \x1c\x1d\x1e\x1f\xc2\x85\xc2\xa0\xe1\x9a\x80\xe2\x80\x80\xe2\x80\xa8"
				   "\xe3\x80\x80 a b\xe2\x80\x8b\xe3\x80\x80\x1f \n";
	size_t            n = sizeof(text) - 1;
	const char       *p = py_strip(text, &n);

	ok(n == 6 && memcmp(p, "a b\xe2\x80\x8b", 6) == 0, "strip takes all white space, and U+200B is none");
	n = 4;
	ok(py_strip(" \n\t ", &n) != NULL && n == 0, "nothing is left of blanks");
	ok(py_isalnum("a1\xc3\xa9\xe4\xb8\xad", 7) && !py_isalnum("a b", 3) && !py_isalnum("", 0) &&
		!py_isalnum("\xe2\x80\xa6", 3) && !py_isalnum("a\xf0\x9f\x98\x80", 5),
	    "letters and digits");
}

static void
test_repr(void)
{
	static const struct {
		const char *json, *repr;
	} rows[] = {
		{ "null", "None" },
		{ "[true, false]", "[True, False]" },
		{ "{\"a\": [1, -2, 0.5, 1e16]}", "{'a': [1, -2, 0.5, 1e+16]}" },
		{ "\"it's\"", "\"it's\"" },
		{ "\"a\\\"b'c\"", "'a\"b\\'c'" },
		{ "\"\\n\\t\\u0000\\u007f\\u0080\\u00e9\\u200b\"", "'\\n\\t\\x00\\x7f\\x80\xc3\xa9\\u200b'" },
		{ "\"\\\\\"", "'\\\\'" },
		{ "99999999999999999999999", "99999999999999999999999" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf     b = { 0 };
		msgpack_object o = value(rows[i].json);

		py_repr(&b, &o, 1000);
		buf_append(&b, "", 1);
		is(b.data, rows[i].repr, "repr of %s", rows[i].json);
		buf_clear(&b);
	}
}

int
main(void)
{
	plan(NO_PLAN);
	msgpack_zone_init(&zone, 4096);
	test_int();
	test_float();
	test_bool();
	test_time();
	test_strip();
	test_repr();
	msgpack_zone_destroy(&zone);
	done_testing();
}
