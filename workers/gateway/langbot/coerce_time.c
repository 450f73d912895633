/* Moments: RFC 3339 with its freedoms (a blank for the T, no seconds, a fraction), or a number of seconds. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "langbot/coerce.h"

static const char time_type[] = "Input should be a valid datetime";
static const char time_parsing[] = "Input should be a valid datetime or date, invalid format";
static const char time_naive[] = "Value error, expires_at must include a timezone";

static const double MILLISECONDS_FROM = 2e10;   /* larger numbers are milliseconds */
static const double LAST_SECOND = 253402300800; /* the year 10000 */

struct cursor {
	const char *p;
	size_t      n;
	bool        bad;
};

static int
digits(struct cursor *c, size_t count)
{
	int v = 0;

	for (size_t i = 0; i < count; i++, c->p++, c->n--) {
		if (c->n == 0 || !isdigit((unsigned char)*c->p)) {
			c->bad = true;
			return 0;
		}
		v = v * 10 + (*c->p - '0');
	}
	return v;
}

static bool
take(struct cursor *c, const char *any)
{
	if (c->n == 0 || *c->p == '\0' || strchr(any, *c->p) == NULL)
		return false;
	c->p++, c->n--;
	return true;
}

static void
need(struct cursor *c, const char *any)
{
	if (!take(c, any))
		c->bad = true;
}

static int
fraction_us(struct cursor *c)
{
	int us = 0, unit = 100000;

	if (!take(c, ".,"))
		return 0;
	if (c->n == 0 || !isdigit((unsigned char)*c->p))
		c->bad = true;
	for (; c->n > 0 && isdigit((unsigned char)*c->p); c->p++, c->n--, unit /= 10)
		us += (*c->p - '0') * unit;
	return us;
}

/* Seconds east of Greenwich; false when nothing is said of it. */
static bool
zone(struct cursor *c, long *east)
{
	*east = 0;
	if (c->n == 0)
		return false;
	if (take(c, "Zz"))
		return true;
	int sign = *c->p == '-' ? -1 : 1;
	need(c, "+-");
	int hours = digits(c, 2);
	take(c, ":");
	int minutes = c->n > 0 ? digits(c, 2) : 0;
	if (hours > 23 || minutes > 59)
		c->bad = true;
	*east = sign * (hours * 3600L + minutes * 60L);
	return true;
}

static bool
is_date(const struct tm *t)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int              y = t->tm_year + 1900;
	int              leap = t->tm_mon == 1 && y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);

	return y >= 1 && t->tm_mon >= 0 && t->tm_mon < 12 && t->tm_mday >= 1 && t->tm_mday <= days[t->tm_mon] + leap;
}

static const char *
time_of_text(const char *p, size_t n, uint64_t *us)
{
	struct cursor c = { .p = p, .n = n };
	struct tm     t = { 0 };
	long          east;

	t.tm_year = digits(&c, 4) - 1900;
	need(&c, "-");
	t.tm_mon = digits(&c, 2) - 1;
	need(&c, "-");
	t.tm_mday = digits(&c, 2);
	if (!c.bad && c.n == 0)
		return is_date(&t) ? time_naive : time_parsing;
	need(&c, "Tt _");
	t.tm_hour = digits(&c, 2);
	need(&c, ":");
	t.tm_min = digits(&c, 2);
	if (take(&c, ":"))
		t.tm_sec = digits(&c, 2);
	int  fraction = fraction_us(&c);
	bool zoned = zone(&c, &east);
	if (c.bad || c.n > 0 || !is_date(&t) || t.tm_hour > 23 || t.tm_min > 59 || t.tm_sec > 59)
		return time_parsing;
	if (!zoned)
		return time_naive;
	int64_t sec = (int64_t)timegm(&t) - east;
	*us = sec < 0 ? 0 : (uint64_t)sec * 1000000 + (uint64_t)fraction;
	return NULL;
}

static const char *
time_of_number(double v, uint64_t *us)
{
	if (fabs(v) > MILLISECONDS_FROM)
		v /= 1000;
	if (!isfinite(v) || v >= LAST_SECOND)
		return time_parsing;
	*us = v < 0 ? 0 : (uint64_t)llround(v * 1e6);
	return NULL;
}

const char *
coerce_time(const msgpack_object *o, uint64_t *us)
{
	double v;

	if (o->type == MSGPACK_OBJECT_STR) {
		size_t      n = o->via.str.size;
		const char *p = o->via.str.ptr;

		if (time_of_text(p, n, us) == NULL)
			return NULL;
		if (n > 0 && coerce_float(o, &v) == NULL && isfinite(v))
			return time_of_number(v, us);
		return time_of_text(p, n, us);
	}
	if (o->type == MSGPACK_OBJECT_BOOLEAN || coerce_float(o, &v) != NULL)
		return time_type;
	return time_of_number(v, us);
}
