#include "python/pynum.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "python/pystr.h"

enum { INT_DIGITS = 4300 }; /* Python reads no longer ones */

const char        NOT_INT[] = "Input should be a valid integer";
const char        NOT_FLOAT[] = "Input should be a valid number";
const char        NOT_BOOL[] = "Input should be a valid boolean";
static const char int_parsing[] = "Input should be a valid integer, unable to parse string as an integer";
static const char int_size[] = "Unable to parse input string as an integer, exceeded maximum size";
static const char int_fraction[] = "Input should be a valid integer, got a number with a fractional part";
static const char not_finite[] = "Input should be a finite number";
static const char float_parsing[] = "Input should be a valid number, unable to parse string as a number";
static const char bool_parsing[] = "Input should be a valid boolean, unable to interpret input";

/* ---- whole numbers ---- */

/* Digits with single underscores between them, of at most n bytes; how many bytes, or 0. */
static size_t
read_digits(const char *p, size_t n, wide *out)
{
	wide   v = 0;
	size_t i = 0;

	for (; i < n; i++) {
		if (p[i] == '_' && i > 0 && p[i - 1] != '_' && i + 1 < n && isdigit((unsigned char)p[i + 1]))
			continue;
		if (!isdigit((unsigned char)p[i]))
			break;
		v = v >= WIDE_MOST / 10 ? WIDE_MOST : v * 10 + (p[i] - '0');
	}
	*out = v;
	return i;
}

static bool
read_int(const char *p, size_t n, wide *out)
{
	bool negative;

	p = rust_trim(p, &n);
	negative = n > 0 && *p == '-';
	if (n > 0 && (*p == '-' || *p == '+'))
		p++, n--;
	size_t used = read_digits(p, n, out);
	if (used == 0)
		return false;
	if (negative)
		*out = -*out;
	p += used, n -= used;
	if (n >= 2 && *p == '.')
		for (p++, n--; n > 0 && *p == '0'; p++, n--)
			;
	return n == 0;
}

const char *
int_of_text(const char *p, size_t n, wide *out)
{
	if (n > INT_DIGITS)
		return int_size;
	return read_int(p, n, out) ? NULL : int_parsing;
}

const char *
int_of_real(double v, wide *out)
{
	if (!isfinite(v))
		return not_finite;
	if (v != floor(v))
		return int_fraction;
	if (v >= 0x1p63 || v <= -0x1p63)
		return int_size;
	*out = (wide)v;
	return NULL;
}

/* ---- numbers ---- */

/* Underscores between digits go; -1 when there is another, or more than a number needs. */
static int
without_underscores(const char *p, size_t n, char *out, size_t size)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '_' && i > 0 && i + 1 < n && isdigit((unsigned char)p[i - 1]) &&
		    isdigit((unsigned char)p[i + 1]))
			continue;
		if (p[i] == '_' || k + 1 == size)
			return -1;
		out[k++] = p[i];
	}
	out[k] = '\0';
	return 0;
}

const char *
float_of_text(const char *p, size_t n, double *out)
{
	char  text[512], *end;
	char *word = text;

	p = rust_trim(p, &n);
	if (without_underscores(p, n, text, sizeof(text)) == -1 || memchr(p, '\0', n) != NULL)
		return float_parsing;
	word += *word == '+' || *word == '-';
	bool named = strcasecmp(word, "inf") == 0 || strcasecmp(word, "infinity") == 0 || strcasecmp(word, "nan") == 0;
	if (!named && (*word == '\0' || strspn(word, "0123456789.eE+-") != strlen(word)))
		return float_parsing; /* strtod would read hexadecimal too */
	*out = strtod(text, &end);
	return *end == '\0' && end != text ? NULL : float_parsing;
}

/* ---- truth ---- */

const char *
bool_of_text(const char *p, size_t n, bool *out)
{
	static const char *const words[][6] = {
		{ "false", "f", "no", "n", "off", "0" },
		{ "true", "t", "yes", "y", "on", "1" },
	};

	for (int v = 0; v < 2; v++)
		for (size_t i = 0; i < 6; i++)
			if (strlen(words[v][i]) == n && strncasecmp(words[v][i], p, n) == 0) {
				*out = v == 1;
				return NULL;
			}
	return bool_parsing;
}

const char *
bool_of_real(double v, bool *out)
{
	wide whole;

	if (int_of_real(v, &whole) != NULL)
		return NOT_BOOL;
	*out = v == 1;
	return v == 0 || v == 1 ? NULL : bool_parsing;
}

/* ---- printed ---- */

enum { FIRST_EXPONENT = 16, LAST_NEGATIVE = -4 }; /* from where on repr() has an exponent */

/* The shortest digits that read back as the same number; exponent of the first. */
static int
shortest(double v, char digits[32])
{
	char text[40];

	for (int more = 0; more <= 16; more++) {
		snprintf(text, sizeof(text), "%.*e", more, v);
		if (strtod(text, NULL) == v)
			break;
	}
	char *e = strchr(text, 'e');
	int   n = 0;
	for (const char *p = text; p < e; p++)
		if (*p != '.')
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	return (int)strtol(e + 1, NULL, 10);
}

static void
put_plain(struct buf *b, const char *digits, int exponent)
{
	int n = (int)strlen(digits);

	if (exponent < 0)
		buf_printf(b, "0.%.*s%s", -exponent - 1, "0000", digits);
	else if (n <= exponent + 1)
		buf_printf(b, "%s%.*s.0", digits, exponent + 1 - n, "0000000000000000");
	else
		buf_printf(b, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

void
py_float(struct buf *b, double v)
{
	char digits[32] = "";

	if (!isfinite(v)) {
		buf_printf(b, "%s", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
		return;
	}
	if (signbit(v))
		buf_append(b, "-", 1);
	int exponent = shortest(fabs(v), digits);
	if (exponent >= LAST_NEGATIVE && exponent < FIRST_EXPONENT)
		put_plain(b, digits, exponent);
	else
		buf_printf(b, "%c%s%se%c%02d", digits[0], digits[1] != '\0' ? "." : "", digits + 1,
		    exponent < 0 ? '-' : '+', abs(exponent));
}
