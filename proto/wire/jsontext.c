#include "wire/jsontext.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bounds.h"
#include "base/log.h"

struct scan {
	const char         *text;
	size_t              values, containers, depth, deepest;
	bool                long_numbers;
	enum jsontext_fault fault; /* the first */
	struct err         *e;
};

#define FAULT(s, kind, ...) \
	((s)->fault != JSONTEXT_GOOD ? -1 : ((s)->fault = (kind), err_set((s)->e, E_VALUE, __VA_ARGS__)))

/* ---- tokens --------------------------------------------------------------------------- */

/* Bytes of a string up to its quote, or all there are. */
static size_t
string_length(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] != '"')
		i += p[i] == '\\' ? 2 : 1;
	return i < n ? i : n;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_of_number(char c)
{
	return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t
span(const char *p, size_t n, bool (*is_one)(char))
{
	size_t i = 0;

	while (i < n && is_one(p[i]))
		i++;
	return i;
}

static char
kind_of(char c)
{
	switch (c) {
	case '{':
	case '}':
	case '[':
	case ']':
	case ':':
	case ',':
	case '"':
		return c;
	case '-':
		return '0';
	default:
		return is_digit(c) ? '0' : is_letter(c) ? 'a' : '?';
	}
}

char
jsontext_next(struct jsontext *left, struct jsontext *token)
{
	size_t blank = span(left->p, left->n, is_blank), quotes = 0;
	char   kind = 0;

	*token = (struct jsontext){ left->p + blank, left->n - blank };
	if (token->n > 0 && (kind = kind_of(*token->p)) == '"') {
		token->p++;
		token->n--;
		size_t n = string_length(token->p, token->n);
		quotes = n < token->n; /* the one behind it */
		token->n = n;
	} else if (kind == '0') {
		token->n = 1 + span(token->p + 1, token->n - 1, is_of_number);
	} else if (kind == 'a') {
		token->n = span(token->p, token->n, is_letter);
	} else if (kind != 0) {
		token->n = 1;
	}
	const char *end = token->p + token->n + quotes;
	*left = (struct jsontext){ end, left->n - (size_t)(end - left->p) };
	return kind;
}

bool
jsontext_is(const struct jsontext *t, const char *word)
{
	return t->n == strlen(word) && memcmp(t->p, word, t->n) == 0;
}

/* ---- the scan --------------------------------------------------------------------------- */

static unsigned
surrogate(const char *p, const char *end)
{
	char digits[5] = { 0 };

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return 0;
	memcpy(digits, p + 2, 4);
	unsigned c = (unsigned)strtoul(digits, NULL, 16);
	return c >= 0xd800 && c <= 0xdfff ? c : 0;
}

/* A character above U+FFFF is written as two halves, the higher before the lower. */
static bool
has_half_pair(const struct jsontext *string)
{
	const char *end = string->p + string->n;

	for (const char *p = string->p; p < end && (p = memchr(p, '\\', (size_t)(end - p))) != NULL; p += 2) {
		unsigned high = surrogate(p, end);

		if (high == 0)
			continue;
		if (high > 0xdbff || surrogate(p + 6, end) < 0xdc00)
			return true;
		p += 10;
	}
	return false;
}

/* Longer than jansson may get it. */
static bool
is_long_whole(const struct jsontext *number)
{
	size_t sign = *number->p == '-';

	return number->n > JSONTEXT_WHOLE && number->p[sign] != '0' &&
	       span(number->p + sign, number->n - sign, is_digit) == number->n - sign;
}

static void
enter(struct scan *s)
{
	if (++s->containers > LIM_JSON_CONTAINERS)
		FAULT(s, JSONTEXT_MANY, "JSON has more than %d arrays and objects", LIM_JSON_CONTAINERS);
	if (++s->depth > s->deepest)
		FAULT(s, JSONTEXT_FAULTY, "JSON is nested deeper than %zu levels", s->deepest);
}

/* Python writes NaN and Infinity and reads them; everybody else stops there. */
static void
look_at(struct scan *s, char kind, const struct jsontext *token)
{
	switch (kind) {
	case '{':
	case '[':
		enter(s);
		break;
	case '"':
		if (has_half_pair(token))
			FAULT(s, JSONTEXT_FAULTY, "JSON has half a surrogate pair");
		break;
	case '0':
		s->long_numbers |= is_long_whole(token);
		break;
	case 'a':
		if (s->depth > 0 && (jsontext_is(token, "NaN") || jsontext_is(token, "Infinity")))
			FAULT(s, JSONTEXT_FAULTY, "JSON has no NaN and no Infinity");
		break;
	case '?': /* jansson would pass over a NUL behind a number */
		FAULT(s, JSONTEXT_BROKEN, "not JSON at byte %zu", (size_t)(token->p - s->text));
		return;
	default:
		s->depth -= (kind == '}' || kind == ']') && s->depth > 0;
		return;
	}
	if (++s->values > LIM_VALUES)
		FAULT(s, JSONTEXT_MANY, "JSON has more than %lu values", LIM_VALUES);
}

static int
scan(struct scan *s, const char *text, size_t n)
{
	struct jsontext left = { text, n }, token;
	char            kind;

	while (s->fault == JSONTEXT_GOOD && (kind = jsontext_next(&left, &token)) != 0)
		look_at(s, kind, &token);
	return s->fault == JSONTEXT_GOOD ? 0 : -1;
}

/* ---- the tree ----------------------------------------------------------------------------- */

/* A copy in which long numbers end in spaces; NULL without memory. */
static char *
cut_numbers(const char *text, size_t n)
{
	struct jsontext left = { text, n }, token;
	char           *copy = malloc(n);

	if (copy != NULL)
		memcpy(copy, text, n);
	for (char kind; copy != NULL && (kind = jsontext_next(&left, &token)) != 0;)
		if (kind == '0' && is_long_whole(&token))
			memset(copy + (token.p - text) + JSONTEXT_WHOLE, ' ', token.n - JSONTEXT_WHOLE);
	return copy;
}

/* The token at which jansson stopped. */
static const char *
stopped_at(const char *text, size_t n, size_t at)
{
	struct jsontext left = { text, n }, token = { text, 0 };

	while (left.p < text + at && jsontext_next(&left, &token) != 0)
		;
	return log_escape(token.p, token.n < 40 ? token.n : 40);
}

static void
explain(struct scan *s, const char *text, size_t n, const json_error_t *why)
{
	size_t at = why->position > 0 ? (size_t)why->position : 0;

	switch (json_error_code(why)) {
	case json_error_duplicate_key:
		FAULT(s, JSONTEXT_FAULTY, "JSON has the key '%s' twice", stopped_at(text, n, at));
		break;
	case json_error_numeric_overflow:
		FAULT(s, JSONTEXT_FAULTY, "JSON has a number that no double holds: %s", stopped_at(text, n, at));
		break;
	case json_error_null_byte_in_key:
		s->fault = JSONTEXT_FAULTY; /* in the words of Python's where it matters, for variables */
		err_set(s->e, E_INVALID, "embedded null byte");
		break;
	case json_error_out_of_memory:
		s->fault = JSONTEXT_STARVED;
		break;
	default:
		FAULT(s, JSONTEXT_BROKEN, "not JSON at byte %zu", at);
	}
}

void
jsontext_prepare(void)
{
	size_t seed = 0;

	(void)!getrandom(&seed, sizeof(seed), 0);
	json_object_seed(seed); /* 0: it looks for one itself */
}

json_t *
jsontext_load(const char *text, size_t n, size_t flags, size_t depth, enum jsontext_fault *fault, struct err *e)
{
	struct scan  s = { .text = text, .deepest = depth, .e = e };
	json_error_t why;
	json_t      *tree = NULL;
	char        *copy = NULL;

	if (scan(&s, text, n) == 0 && (!s.long_numbers || (copy = cut_numbers(text, n)) != NULL)) {
		tree = json_loadb(copy != NULL ? copy : text, n, flags | JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
		if (tree == NULL)
			explain(&s, text, n, &why);
	} else if (s.fault == JSONTEXT_GOOD) {
		s.fault = JSONTEXT_STARVED;
	}
	if (s.fault == JSONTEXT_STARVED)
		err_set(e, E_SYS, "no memory for JSON");
	free(copy);
	*fault = s.fault;
	return tree;
}
