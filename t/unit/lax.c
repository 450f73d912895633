/* What a scalar means: the coercions of LangBot's own classes, and their words when there is none. */
#include <math.h>

#include "python/lax.h"
#include "tap.h"

#define TEXT(s)                            \
	{                                  \
		.kind = LAX_STR, .text = s \
	}
#define REAL(v)                              \
	{                                    \
		.kind = LAX_FLOAT, .real = v \
	}
#define WHOLE(v)                             \
	{                                    \
		.kind = LAX_INT, .number = v \
	}
#define BOOLEAN(v)                             \
	{                                      \
		.kind = LAX_BOOL, .boolean = v \
	}

static const char *
shown(const struct lax *l)
{
	static const char *const kinds[] = { "nothing", "a boolean", "a number", "a float", "" };

	return l->kind == LAX_STR ? l->text : kinds[l->kind];
}

TEST(ints)
{
	static const struct {
		struct lax in;
		int64_t    want;
	} good[] = { { WHOLE(999), 999 }, { WHOLE(-5), -5 }, { REAL(999.0), 999 }, { BOOLEAN(true), 1 },
		{ BOOLEAN(false), 0 }, { TEXT("999"), 999 }, { TEXT(" 12 "), 12 }, { TEXT("+5"), 5 },
		{ TEXT("-5"), -5 }, { TEXT("0012"), 12 }, { TEXT("1_000"), 1000 }, { TEXT("999.0"), 999 },
		{ TEXT("7.000"), 7 }, { TEXT("99999999999999999999999"), INT64_MAX } };
	static const struct {
		struct lax  in;
		const char *says;
	} bad[] = { { TEXT("1e3"), "unable to parse string as an integer$" }, { TEXT("0x10"), "unable to parse" },
		{ TEXT(""), "unable to parse" }, { TEXT(" "), "unable to parse" }, { TEXT("30.5"), "unable to parse" },
		{ TEXT("_1"), "unable to parse" }, { TEXT("1_"), "unable to parse" },
		{ TEXT("1__0"), "unable to parse" }, { TEXT("1."), "unable to parse" },
		{ TEXT("+"), "unable to parse" }, { TEXT("\xd9\xa3"), "unable to parse" },
		{ REAL(30.5), "got a number with a fractional part$" }, { REAL(1e20), "exceeded maximum size$" },
		{ REAL(NAN), "finite number$" }, { { .kind = LAX_NONE }, "^Input should be a valid integer$" } };
	struct err e;
	int64_t    v;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		ok(lax_int(&good[i].in, &v, &e) == 0, "'%s' is a whole number", shown(&good[i].in));
		cmp_ok(v, "==", good[i].want, "the right one");
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ok(lax_int(&bad[i].in, &v, &e) == -1 && e.code == E_INVALID, "'%s' is none", shown(&bad[i].in));
		like(e.text, bad[i].says, "and it says so");
	}
}

TEST(floats)
{
	static const struct {
		struct lax in;
		double     want;
	} good[] = { { WHOLE(2), 2 }, { REAL(0.5), 0.5 }, { BOOLEAN(true), 1 }, { TEXT(".5"), 0.5 }, { TEXT("5."), 5 },
		{ TEXT("1_0"), 10 }, { TEXT("1e2"), 100 }, { TEXT(" -2.5 "), -2.5 }, { TEXT("inf"), INFINITY } };
	static const struct lax bad[] = { TEXT(""), TEXT("0x1"), TEXT("1p3"), TEXT("one"), TEXT("nan(1)"),
		TEXT("1 2") };
	struct err              e;
	double                  v;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ok(lax_float(&good[i].in, &v, &e) == 0 && v == good[i].want, "'%s' is a number", shown(&good[i].in));
	ok(lax_float(&(struct lax)TEXT("nan"), &v, &e) == 0 && isnan(v), "nan too");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ok(lax_float(&bad[i], &v, &e) == -1, "'%s' is none", shown(&bad[i]));
		is(e.text, "Input should be a valid number, unable to parse string as a number", "and it says so");
	}
	ok(lax_float(&(struct lax){ .kind = LAX_NONE }, &v, &e) == -1, "nothing is none");
}

TEST(bools)
{
	static const char *const yes[] = { "true", "T", "Yes", "y", "ON", "1" }, *const no[] = { "false", "F", "No",
		"n", "OFF", "0" };
	static const struct lax bad[] = { WHOLE(2), REAL(2.0), TEXT(""), TEXT(" true "), TEXT("maybe"), WHOLE(-1) };
	struct err              e;
	bool                    v;

	for (size_t i = 0; i < 6; i++) {
		ok(lax_bool(&(struct lax)TEXT(yes[i]), &v, &e) == 0 && v, "%s", yes[i]);
		ok(lax_bool(&(struct lax)TEXT(no[i]), &v, &e) == 0 && !v, "%s", no[i]);
	}
	ok(lax_bool(&(struct lax)WHOLE(1), &v, &e) == 0 && v, "1");
	ok(lax_bool(&(struct lax)REAL(0.0), &v, &e) == 0 && !v, "0.0");
	ok(lax_bool(&(struct lax)BOOLEAN(true), &v, &e) == 0 && v, "true itself");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ok(lax_bool(&bad[i], &v, &e) == -1, "'%s' is neither", shown(&bad[i]));
		is(e.text, "Input should be a valid boolean, unable to interpret input", "and it says so");
	}
	ok(lax_bool(&(struct lax)REAL(0.5), &v, &e) == -1, "a half is neither");
	is(e.text, "Input should be a valid boolean", "and not even a number that could be");
}

int
main(void)
{
	run_tests();
	ok(lax_is_blank(&(struct lax){ .kind = LAX_NONE }) && lax_is_blank(&(struct lax)TEXT("")), "blank");
	ok(!lax_is_blank(&(struct lax)TEXT("0")) && !lax_is_blank(&(struct lax)WHOLE(0)), "not blank");
	done_testing();
}
