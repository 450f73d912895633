#include "skills/scalar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/pynum.h"

enum { INT_DIGITS = 4300 }; /* Python prints no longer whole number */

#define DIGITS "0123456789"

/* ---- looks ------------------------------------------------------------------------------- */

/* A reader of the scalar's text: each step moves on, or not. */
struct look {
	struct span s;
	size_t      at;
};

static size_t
look_run(struct look *l, const char *of)
{
	size_t from = l->at;

	while (l->at < l->s.n && l->s.p[l->at] != '\0' && strchr(of, l->s.p[l->at]) != NULL)
		l->at++;
	return l->at - from;
}

static bool
one(struct look *l, const char *of)
{
	if (l->at >= l->s.n || l->s.p[l->at] == '\0' || strchr(of, l->s.p[l->at]) == NULL)
		return false;
	l->at++;
	return true;
}

static bool
word(struct look *l, const char *what)
{
	size_t n = strlen(what);

	if (l->s.n - l->at < n || memcmp(l->s.p + l->at, what, n) != 0)
		return false;
	l->at += n;
	return true;
}

static bool
over(const struct look *l)
{
	return l->at == l->s.n;
}

static bool
is_one_of(struct span s, const char *const *names)
{
	for (; *names != NULL; names++)
		if (span_is(s, *names))
			return true;
	return false;
}

/* (:[0-5]?[0-9])+ ; false: not once */
static bool
sixties(struct look *l)
{
	bool any = false;

	while (one(l, ":")) {
		size_t from = l->at, n = look_run(l, DIGITS);

		if (n == 0 || n > 2 || (n == 2 && l->s.p[from] > '5'))
			return false;
		any = true;
	}
	return any;
}

static bool
looks_int(struct span s)
{
	struct look l = { s, 0 };

	one(&l, "+-");
	struct look rest = l;
	if (word(&l, "0b"))
		return look_run(&l, "01_") > 0 && over(&l);
	if (word(&l, "0x"))
		return look_run(&l, DIGITS "abcdefABCDEF_") > 0 && over(&l);
	if (one(&l, "0")) {
		look_run(&l, "01234567_");
		return over(&l);
	}
	l = rest;
	if (!one(&l, "123456789"))
		return false;
	look_run(&l, DIGITS "_");
	return over(&l) || (sixties(&l) && over(&l));
}

/* ([eE][-+][0-9]+)? and the end */
static bool
exponent(struct look *l)
{
	if (one(l, "eE") && !(one(l, "+-") && look_run(l, DIGITS) > 0))
		return false;
	return over(l);
}

static bool
looks_float(struct span s)
{
	static const char *const odd[] = { ".inf", ".Inf", ".INF", NULL }, *const nan_[] = { ".nan", ".NaN", ".NAN",
		NULL };
	struct look l = { s, 0 };

	if (is_one_of(s, nan_))
		return true;
	bool sign = one(&l, "+-");
	if (is_one_of((struct span){ s.p + l.at, s.n - l.at }, odd))
		return true;
	if (!sign && one(&l, "."))
		return one(&l, DIGITS) && (look_run(&l, DIGITS "_"), exponent(&l));
	if (!one(&l, DIGITS))
		return false;
	look_run(&l, DIGITS "_");
	if (one(&l, "."))
		return look_run(&l, DIGITS "_"), exponent(&l);
	return sixties(&l) && one(&l, ".") && (look_run(&l, DIGITS "_"), over(&l));
}

/* ---- times ------------------------------------------------------------------------------- */

struct when {
	int  year, month, day, hour, minute, second, micro;
	bool has_time, has_zone;
	int  zone_min; /* east of UTC */
};

static bool
number(struct look *l, size_t least, size_t most, int *out)
{
	size_t from = l->at, n = look_run(l, DIGITS);

	if (n < least || n > most)
		return false;
	*out = 0;
	for (size_t i = 0; i < n; i++)
		*out = *out * 10 + (l->s.p[from + i] - '0');
	return true;
}

/* Millionths; what is finer is cut off. */
static void
fraction(struct look *l, int *micro)
{
	size_t from = l->at, n = look_run(l, DIGITS);

	*micro = 0;
	for (size_t i = 0; i < 6; i++)
		*micro = *micro * 10 + (i < n ? l->s.p[from + i] - '0' : 0);
}

static bool
zone(struct look *l, struct when *w)
{
	int hours = 0, minutes = 0;

	look_run(l, " \t");
	if (over(l))
		return true;
	w->has_zone = true;
	if (one(l, "Z"))
		return over(l);
	int sign = l->at < l->s.n && l->s.p[l->at] == '-' ? -1 : 1;
	if (!one(l, "+-") || !number(l, 1, 2, &hours) || (one(l, ":") && !number(l, 2, 2, &minutes)))
		return false;
	w->zone_min = sign * (hours * 60 + minutes);
	return over(l);
}

static bool
read_time(struct span s, struct when *w)
{
	struct look l = { s, 0 };

	*w = (struct when){ 0 };
	if (!number(&l, 4, 4, &w->year) || !one(&l, "-") || !number(&l, 1, 2, &w->month) || !one(&l, "-") ||
	    !number(&l, 1, 2, &w->day))
		return false;
	if (over(&l))
		return s.n == 10; /* a date alone has all its digits */
	w->has_time = true;
	if (!one(&l, "Tt") && look_run(&l, " \t") == 0)
		return false;
	if (!number(&l, 1, 2, &w->hour) || !one(&l, ":") || !number(&l, 2, 2, &w->minute) || !one(&l, ":") ||
	    !number(&l, 2, 2, &w->second))
		return false;
	if (one(&l, "."))
		fraction(&l, &w->micro);
	/* blanks belong to a zone, and to nothing else */
	if (l.at < s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		return false;
	return zone(&l, w);
}

static bool
exists(const struct when *w)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool             leap = (w->year % 4 == 0 && w->year % 100 != 0) || w->year % 400 == 0;

	return w->year >= 1 && w->month >= 1 && w->month <= 12 && w->day >= 1 &&
	       w->day <= days[w->month - 1] + (w->month == 2 && leap) && w->hour < 24 && w->minute < 60 &&
	       w->second < 60 && abs(w->zone_min) < 24 * 60;
}

static bool
print_time(struct span s, struct buf *out)
{
	struct when w;

	if (!read_time(s, &w) || !exists(&w))
		return false;
	buf_printf(out, "%04d-%02d-%02d", w.year, w.month, w.day);
	if (!w.has_time)
		return true;
	buf_printf(out, " %02d:%02d:%02d", w.hour, w.minute, w.second);
	if (w.micro != 0)
		buf_printf(out, ".%06d", w.micro);
	if (w.has_zone)
		buf_printf(out, "%c%02d:%02d", w.zone_min < 0 ? '-' : '+', abs(w.zone_min) / 60, abs(w.zone_min) % 60);
	return true;
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* A whole number of any size, nine decimal digits a piece, lowest first. */
struct big {
	uint32_t v[INT_DIGITS / 9 + 2];
	size_t   n;
};

/* b = b * times + plus; false: longer than Python prints */
static bool
big_step(struct big *b, uint32_t times, uint32_t plus)
{
	uint64_t carry = plus;

	for (size_t i = 0; i < b->n || carry > 0; i++) {
		if (i == sizeof(b->v) / sizeof(*b->v))
			return false;
		carry += i < b->n ? (uint64_t)b->v[i] * times : 0;
		b->v[i] = (uint32_t)(carry % 1000000000);
		carry /= 1000000000;
		if (i == b->n)
			b->n++;
	}
	return true;
}

static bool
big_print(const struct big *b, bool negative, struct buf *out)
{
	char first[16];

	if (b->n == 0) {
		buf_append(out, "0", 1);
		return true;
	}
	snprintf(first, sizeof(first), "%u", b->v[b->n - 1]);
	if (strlen(first) + (b->n - 1) * 9 > INT_DIGITS)
		return false;
	buf_printf(out, "%s%s", negative ? "-" : "", first);
	for (size_t i = b->n - 1; i > 0; i--)
		buf_printf(out, "%09u", b->v[i - 1]);
	return true;
}

static uint32_t
digit(char c)
{
	return (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* Digits of one base; behind a colon those of a sixtieth, two at most.  Underlines are nothing. */
static bool
big_read(struct big *b, struct span s, uint32_t base)
{
	size_t digits = 0;

	for (size_t i = 0; i < s.n; i++) {
		uint32_t part = 0;

		if (s.p[i] == '_')
			continue;
		if (s.p[i] != ':') {
			digits++;
			if (!big_step(b, base, digit(s.p[i])))
				return false;
			continue;
		}
		for (; i + 1 < s.n && s.p[i + 1] != ':'; i++)
			part = part * 10 + digit(s.p[i + 1]);
		if (!big_step(b, 60, part))
			return false;
	}
	return digits > 0;
}

static bool
print_int(struct span s, struct buf *out, bool *truthy)
{
	struct look l = { s, 0 };
	struct big  b = { 0 };
	uint32_t    base = 10;

	bool negative = s.n > 0 && s.p[0] == '-';
	one(&l, "+-");
	if (word(&l, "0b"))
		base = 2;
	else if (word(&l, "0x"))
		base = 16;
	else if (s.n - l.at > 1 && s.p[l.at] == '0')
		base = 8;
	if (!big_read(&b, (struct span){ s.p + l.at, s.n - l.at }, base))
		return false;
	*truthy = b.n > 0;
	return big_print(&b, negative, out);
}

/* Without underlines, and lower; NULL: no memory. */
static char *
plain_number(struct span s)
{
	char  *copy = text_copy(s);
	size_t n = 0;

	for (size_t i = 0; copy != NULL && i < s.n; i++)
		if (s.p[i] != '_')
			copy[n++] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] | 0x20 : s.p[i]);
	if (copy != NULL)
		copy[n] = '\0';
	return copy;
}

/* Parts of sixty, as digits or with a fraction in the last. */
static double
read_double(char *s)
{
	double v = 0;

	for (char *part; (part = strsep(&s, ":")) != NULL;)
		v = v * 60 + strtod(part, NULL);
	return v;
}

static bool
print_float(struct span s, struct buf *out, bool *truthy)
{
	char *copy = plain_number(s), *p = copy;

	if (copy == NULL)
		return false;
	double sign = *p == '-' ? -1 : 1;
	p += *p == '-' || *p == '+';
	double v = strcmp(p, ".inf") == 0 ? INFINITY : strcmp(p, ".nan") == 0 ? NAN : read_double(p);
	free(copy);
	*truthy = v != 0;
	py_float(out, sign * v);
	return true;
}

/* ---- all of them ------------------------------------------------------------------------- */

static const char *const yes[] = { "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL };
static const char *const no[] = { "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", NULL };
static const char *const null[] = { "", "~", "null", "Null", "NULL", NULL };

enum scalar
scalar_kind(struct span s)
{
	struct when w;

	if (is_one_of(s, yes) || is_one_of(s, no))
		return SCALAR_BOOL;
	if (looks_float(s))
		return SCALAR_FLOAT;
	if (looks_int(s))
		return SCALAR_INT;
	if (is_one_of(s, null))
		return SCALAR_NULL;
	if (read_time(s, &w))
		return SCALAR_TIME;
	return span_is(s, "<<") ? SCALAR_MERGE : span_is(s, "=") ? SCALAR_VALUE : SCALAR_STR;
}

bool
scalar_print(enum scalar kind, struct span s, struct buf *out, bool *truthy)
{
	*truthy = true;
	switch (kind) {
	case SCALAR_STR:
	case SCALAR_MERGE:
		*truthy = s.n > 0;
		buf_append(out, s.p, s.n);
		return true;
	case SCALAR_NULL:
		*truthy = false;
		buf_append(out, "None", 4);
		return true;
	case SCALAR_BOOL:
		*truthy = is_one_of(s, yes);
		buf_printf(out, "%s", *truthy ? "True" : "False");
		return *truthy || is_one_of(s, no);
	case SCALAR_INT:
		return looks_int(s) && print_int(s, out, truthy);
	case SCALAR_FLOAT:
		return (looks_float(s) || looks_int(s)) && print_float(s, out, truthy);
	case SCALAR_TIME:
		return print_time(s, out);
	case SCALAR_VALUE:
		break;
	}
	return false;
}
