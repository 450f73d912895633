/* LangBot's rules for numbers, truth and moments, row by row: what is taken for what, and what is said if not. */
#include <math.h>

#include "python/pystr.h"
#include "tap.h"
#include "workers/gateway/langbot/coerce.h"
#include "workers/gateway/langbot/json.h"
#include "workers/gateway/langbot/pytext.h"

static const char INT_PARSING[] = "Input should be a valid integer, unable to parse string as an integer";
static const char INT_PARSING_SIZE[] = "Unable to parse input string as an integer, exceeded maximum size";
static const char INT_FROM_FLOAT[] = "Input should be a valid integer, got a number with a fractional part";
static const char INT_TYPE[] = "Input should be a valid integer";
static const char FLOAT_PARSING[] = "Input should be a valid number, unable to parse string as a number";
static const char FLOAT_TYPE[] = "Input should be a valid number";
static const char BOOL_PARSING[] = "Input should be a valid boolean, unable to interpret input";
static const char BOOL_TYPE[] = "Input should be a valid boolean";
static const char TIME_TYPE[] = "Input should be a valid datetime";
static const char TIME_PARSING[] = "Input should be a valid datetime or date, invalid format";
static const char TIME_NAIVE[] = "Value error, expires_at must include a timezone";

static msgpack_zone zone;

static msgpack_object
value(const char *json)
{
	msgpack_object o;
	struct err     e;

	must(json_parse(json, strlen(json), &zone, &o, &e) == JSON_GOOD, "%s: %s", json, e.text);
	return o;
}

TEST(int)
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
		{ "\"1e3\"", 0, INT_PARSING },
		{ "\"0x10\"", 0, INT_PARSING },
		{ "\"\"", 0, INT_PARSING },
		{ "\"30.5\"", 0, INT_PARSING },
		{ "\"999.\"", 0, INT_PARSING },
		{ "\".0\"", 0, INT_PARSING },
		{ "\"_1\"", 0, INT_PARSING },
		{ "\"1_\"", 0, INT_PARSING },
		{ "\"1__0\"", 0, INT_PARSING },
		{ "\"1.0_0\"", 0, INT_PARSING },
		{ "\"--1\"", 0, INT_PARSING },
		{ "\"+ 5\"", 0, INT_PARSING },
		{ "\"\\u001c5\"", 0, INT_PARSING },
		{ "\"\xd9\xa3\"", 0, INT_PARSING },
		{ "30.5", 0, INT_FROM_FLOAT },
		{ "1e20", 0, INT_PARSING_SIZE },
		{ "null", 0, INT_TYPE },
		{ "[]", 0, INT_TYPE },
		{ "{}", 0, INT_TYPE },
	};
	wide v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		msgpack_object o = value(rows[i].json);
		const char    *m = coerce_int(&o, &v);

		if (rows[i].misfit == NULL)
			ok(m == NULL && v == rows[i].v, "int of %s is %lld", rows[i].json, rows[i].v);
		else
			is(m != NULL ? m : "taken", rows[i].misfit, "int of %s", rows[i].json);
	}
	msgpack_object big = value("1000000000000000000000000000000"),
		       small = value("-1000000000000000000000000000000");
	ok(coerce_int(&big, &v) == NULL && v == WIDE_MOST, "a number of 31 digits is the largest");
	ok(coerce_int(&small, &v) == NULL && v == -WIDE_MOST, "or the smallest");
}

TEST(float)
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
		{ "\"\"", 0, FLOAT_PARSING },
		{ "\"0x1\"", 0, FLOAT_PARSING },
		{ "\"nan(1)\"", 0, FLOAT_PARSING },
		{ "\"1__0\"", 0, FLOAT_PARSING },
		{ "\".\"", 0, FLOAT_PARSING },
		{ "\"e5\"", 0, FLOAT_PARSING },
		{ "\"1e\"", 0, FLOAT_PARSING },
		{ "null", 0, FLOAT_TYPE },
		{ "[]", 0, FLOAT_TYPE },
	};
	double v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		msgpack_object o = value(rows[i].json);
		const char    *m = coerce_float(&o, &v);

		if (rows[i].misfit == NULL)
			ok(m == NULL && v == rows[i].v, "float of %s is %g", rows[i].json, rows[i].v);
		else
			is(m != NULL ? m : "taken", rows[i].misfit, "float of %s", rows[i].json);
	}
	msgpack_object nan = value("\"nan\"");
	ok(coerce_float(&nan, &v) == NULL && isnan(v), "nan is a float");
}

TEST(bool)
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
		{ "2", false, BOOL_PARSING },
		{ "-1", false, BOOL_PARSING },
		{ "0.5", false, BOOL_TYPE },
		{ "\"\"", false, BOOL_PARSING },
		{ "\" true \"", false, BOOL_PARSING },
		{ "null", false, BOOL_TYPE },
		{ "[]", false, BOOL_TYPE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool           v = !rows[i].v;
		msgpack_object o = value(rows[i].json);
		const char    *m = coerce_bool(&o, &v);

		if (rows[i].misfit == NULL)
			ok(m == NULL && v == rows[i].v, "bool of %s", rows[i].json);
		else
			is(m != NULL ? m : "taken", rows[i].misfit, "bool of %s", rows[i].json);
	}
}

TEST(time)
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
		{ "\"2026-11-15T23:45:59\"", 0, TIME_NAIVE },
		{ "\"2026-11-15\"", 0, TIME_NAIVE },
		{ "\"2026-02-29T00:00:00Z\"", 0, TIME_PARSING },
		{ "\"2026-11-15T24:00:00Z\"", 0, TIME_PARSING },
		{ "\"2026-11-15T23:45:59Zx\"", 0, TIME_PARSING },
		{ "\"tomorrow\"", 0, TIME_PARSING },
		{ "\"\"", 0, TIME_PARSING },
		{ "1e300", 0, TIME_PARSING },
		{ "true", 0, TIME_TYPE },
		{ "null", 0, TIME_TYPE },
	};
	uint64_t us;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		msgpack_object o = value(rows[i].json);
		const char    *m = coerce_time(&o, &us);

		if (rows[i].misfit == NULL)
			ok(m == NULL && us == rows[i].us, "the moment %s", rows[i].json);
		else
			is(m != NULL ? m : "taken", rows[i].misfit, "the moment %s", rows[i].json);
	}
}

TEST(strip)
{
	static const char text[] = "\t\n\v\f\r \x1c\x1d\x1e\x1f\xc2\x85\xc2\xa0\xe1\x9a\x80\xe2\x80\x80\xe2\x80\xa8"
				   "\xe3\x80\x80 a b\xe2\x80\x8b\xe3\x80\x80\x1f \n";
	size_t            n = sizeof(text) - 1;
	const char       *p = py_strip(text, &n);

	ok(n == 6 && memcmp(p, "a b\xe2\x80\x8b", 6) == 0, "strip takes all white space, and U+200B is none");
	n = 4;
	ok(py_strip(" \n\t ", &n) != NULL && n == 0, "nothing is left of blanks");
	static const uint32_t letters[] = { 'a', '1', 0xe9, 0x4e2d }, others[] = { ' ', '-', 0x2026, 0x1f600 };
	for (size_t i = 0; i < 4; i++)
		ok(py_is_alnum(letters[i]) && !py_is_alnum(others[i]), "U+%04X is a letter or digit, U+%04X is not",
		    letters[i], others[i]);
}

TEST(str)
{
	static const char *const rows[][2] = {
		{ "null", "None" },
		{ "true", "True" },
		{ "false", "False" },
		{ "\"it's\"", "it's" },
		{ "-2", "-2" },
		{ "1e16", "1e+16" },
		{ "0.5", "0.5" },
		{ "99999999999999999999999", "99999999999999999999999" },
		{ "[1, {\"a\": null}]", "[1, {\"a\": null}]" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf     b = { 0 };
		msgpack_object o = value(rows[i][0]);

		py_str(&b, &o);
		buf_append(&b, "", 1);
		is(b.data, rows[i][1], "str of %s", rows[i][0]);
		buf_clear(&b);
	}
}

int
main(void)
{
	msgpack_zone_init(&zone, 4096);
	run_tests();
	msgpack_zone_destroy(&zone);
	done_testing();
}
