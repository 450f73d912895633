#include "lax.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS = 64 }; /* longer numbers are none that anybody means */

/* Blanks at both ends off, and single underscores between digits out; false when that is no plain word. */
static bool
plain(const char *text, char out[DIGITS])
{
	size_t n = strlen(text), k = 0;

	while (isspace((unsigned char)*text))
		text++, n--;
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '_' && i > 0 && i + 1 < n && isdigit((unsigned char)text[i - 1]) &&
		    isdigit((unsigned char)text[i + 1]))
			continue;
		if (text[i] == '_' || k == DIGITS - 1)
			return false;
		out[k++] = text[i];
	}
	out[k] = '\0';
	return k > 0;
}

/* Sign, digits, and ".0" as often as one likes. */
static bool
is_whole(const char *s)
{
	size_t n;

	s += *s == '+' || *s == '-';
	n = strspn(s, "0123456789");
	if (n == 0)
		return false;
	s += n;
	if (*s == '.' && s[1] == '0')
		s += 1 + strspn(s + 1, "0");
	return *s == '\0';
}

static int
refuse_int(struct err *e, const char *why)
{
	return err_set(e, E_INVALID, "Input should be a valid integer%s", why);
}

static int
int_of_real(double v, int64_t *out, struct err *e)
{
	if (!isfinite(v))
		return err_set(e, E_INVALID, "Input should be a finite number");
	if (v != floor(v))
		return refuse_int(e, ", got a number with a fractional part");
	if (v >= 0x1p63 || v < -0x1p63)
		return refuse_int(e, "");
	*out = (int64_t)v;
	return 0;
}

int
lax_int(const struct lax *l, int64_t *out, struct err *e)
{
	char word[DIGITS];

	switch (l->kind) {
	case LAX_BOOL:
		*out = l->boolean;
		return 0;
	case LAX_INT:
		*out = l->number;
		return 0;
	case LAX_FLOAT:
		return int_of_real(l->real, out, e);
	case LAX_STR:
		if (!plain(l->text, word) || !is_whole(word))
			return refuse_int(e, ", unable to parse string as an integer");
		*out = strtoll(word, NULL, 10); /* the largest there is when it is larger */
		return 0;
	case LAX_NONE:
		break;
	}
	return refuse_int(e, "");
}

/* What strtod reads beyond that: hexadecimal, and nan with something in brackets. */
static bool
is_decimal(const char *s)
{
	return strpbrk(s, "xXpP(") == NULL;
}

int
lax_float(const struct lax *l, double *out, struct err *e)
{
	char word[DIGITS], *end;

	switch (l->kind) {
	case LAX_BOOL:
		*out = l->boolean;
		return 0;
	case LAX_INT:
		*out = (double)l->number;
		return 0;
	case LAX_FLOAT:
		*out = l->real;
		return 0;
	case LAX_STR:
		if (plain(l->text, word) && is_decimal(word)) {
			*out = strtod(word, &end);
			if (end != word && *end == '\0')
				return 0;
		}
		return err_set(e, E_INVALID, "Input should be a valid number, unable to parse string as a number");
	case LAX_NONE:
		break;
	}
	return err_set(e, E_INVALID, "Input should be a valid number");
}

static int
bool_of_number(double v, bool *out, struct err *e)
{
	if (v != 0 && v != 1)
		return err_set(e, E_INVALID, "Input should be a valid boolean, unable to interpret input");
	*out = v == 1;
	return 0;
}

static int
bool_of_word(const char *s, bool *out, struct err *e)
{
	static const char *const words[][6] = {
		{ "false", "f", "no", "n", "off", "0" },
		{ "true", "t", "yes", "y", "on", "1" },
	};

	for (int v = 0; v < 2; v++)
		for (size_t i = 0; i < 6; i++)
			if (strcasecmp(s, words[v][i]) == 0) {
				*out = v == 1;
				return 0;
			}
	return err_set(e, E_INVALID, "Input should be a valid boolean, unable to interpret input");
}

int
lax_bool(const struct lax *l, bool *out, struct err *e)
{
	switch (l->kind) {
	case LAX_BOOL:
		*out = l->boolean;
		return 0;
	case LAX_INT:
		return bool_of_number((double)l->number, out, e);
	case LAX_FLOAT:
		return bool_of_number(l->real, out, e);
	case LAX_STR:
		return bool_of_word(l->text, out, e);
	case LAX_NONE:
		break;
	}
	return err_set(e, E_INVALID, "Input should be a valid boolean");
}

bool
lax_is_blank(const struct lax *l)
{
	return l->kind == LAX_NONE || (l->kind == LAX_STR && *l->text == '\0');
}
