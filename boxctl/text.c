#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

enum { RING = 4, SHORT = 32 };

/* Characters without a width of their own (controls, overrides of direction) are shown as bytes. */
size_t
text_escape(struct buf *out, const char *p, size_t n)
{
	mbstate_t state = { 0 };
	size_t    columns = 0;

	for (size_t i = 0; i < n;) {
		wchar_t wide;
		size_t  len = mbrtowc(&wide, p + i, n - i, &state);
		int     width = len == (size_t)-1 || len == (size_t)-2 || len == 0 ? -1 : wcwidth(wide);

		if (width > 0) {
			buf_append(out, p + i, len);
			columns += (size_t)width;
			i += len;
			continue;
		}
		memset(&state, 0, sizeof(state));
		buf_printf(out, "\\x%02x", (unsigned char)p[i++]);
		columns += 4;
	}
	return columns;
}

const char *
text_safe(const char *s)
{
	static struct buf ring[RING];
	static unsigned   turn;
	struct buf       *out = &ring[turn++ % RING];

	out->len = 0;
	text_escape(out, s, strlen(s));
	buf_append(out, "", 1);
	return out->failed ? "?" : out->data;
}

static char *
short_text(void)
{
	static char     ring[RING][SHORT];
	static unsigned turn;

	return ring[turn++ % RING];
}

const char *
text_size(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char                    *out = short_text();
	double                   v = (double)bytes;
	size_t                   u = 0;

	while (v >= 1024 && u + 1 < sizeof(units) / sizeof(*units)) {
		v /= 1024;
		u++;
	}
	snprintf(out, SHORT, v == floor(v) || v >= 100 ? "%.0f%s" : "%.1f%s", v, units[u]);
	return out;
}

const char *
text_duration(uint64_t us)
{
	char    *out = short_text();
	uint64_t s = us / 1000000;

	if (us < 1000)
		snprintf(out, SHORT, "%luus", us);
	else if (s < 1)
		snprintf(out, SHORT, "%.3gms", (double)us / 1e3);
	else if (s < 60)
		snprintf(out, SHORT, "%lus", s);
	else if (s < 3600)
		snprintf(out, SHORT, "%lum%lus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(out, SHORT, "%luh%lum", s / 3600, s / 60 % 60);
	else
		snprintf(out, SHORT, "%lud%luh", s / 86400, s / 3600 % 24);
	return out;
}

uint64_t
text_age_us(uint64_t since_ms)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	return now_ms > since_ms ? (now_ms - since_ms) * 1000 : 0;
}

const char *
text_double(double d)
{
	char *out = short_text();

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(out, SHORT, "%.*g", digits, d);
		if (strtod(out, NULL) == d)
			break;
	}
	return out;
}
