#include "skills/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct span
span_of(const char *s)
{
	return (struct span){ s, strlen(s) };
}

bool
span_is(struct span s, const char *what)
{
	return s.n == strlen(what) && memcmp(s.p, what, s.n) == 0;
}

size_t
text_char(struct span s, uint32_t *c)
{
	return (size_t)abs(utf8_next(s.p, s.n, c));
}

void
text_put(struct buf *b, uint32_t c)
{
	char   out[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
	buf_append(b, out, n);
}

bool
text_is_valid(struct span s)
{
	return utf8_is_valid(s.p, s.n);
}

struct span
text_strip(struct span s)
{
	s.p = py_strip(s.p, &s.n);
	return s;
}

struct span
text_strip_of(struct span s, const char *chars)
{
	while (s.n > 0 && memchr(chars, s.p[0], strlen(chars)) != NULL)
		s = (struct span){ s.p + 1, s.n - 1 };
	while (s.n > 0 && memchr(chars, s.p[s.n - 1], strlen(chars)) != NULL)
		s.n--;
	return s;
}

static bool
is_break(uint32_t c)
{
	return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

size_t
text_line(struct span s)
{
	uint32_t c;

	for (size_t i = 0; i < s.n;) {
		i += text_char((struct span){ s.p + i, s.n - i }, &c);
		if (c == '\r' && i < s.n && s.p[i] == '\n')
			return i + 1;
		if (is_break(c))
			return i;
	}
	return s.n;
}

/* Drop the last part of what is written so far; false: no part is left that ".." can take back. */
static bool
take_back(const char *out, size_t *at, size_t root)
{
	size_t i = *at;

	if (i == root)
		return root > 0; /* "/.." is "/" */
	while (i > root && out[i - 1] != '/')
		i--;
	if (*at - i == 2 && memcmp(out + i, "..", 2) == 0)
		return false;
	*at = i > root ? i - 1 : i;
	return true;
}

bool
text_normpath(struct span s, char out[LIM_PATH + 1])
{
	/* two slashes in front, and only two, are kept: POSIX leaves their meaning open */
	size_t root = s.n == 0 || s.p[0] != '/' ? 0 : s.n > 1 && s.p[1] == '/' && (s.n == 2 || s.p[2] != '/') ? 2 : 1;
	size_t at = root;

	memset(out, '/', root);
	for (size_t i = 0; i < s.n;) {
		const char *slash = memchr(s.p + i, '/', s.n - i);
		struct span part = { s.p + i, slash != NULL ? (size_t)(slash - s.p) - i : s.n - i };

		i += part.n + 1;
		if (part.n == 0 || span_is(part, ".") || (span_is(part, "..") && take_back(out, &at, root)))
			continue;
		if (at + 1 + part.n > LIM_PATH)
			return false;
		if (at > root)
			out[at++] = '/';
		memcpy(out + at, part.p, part.n);
		at += part.n;
	}
	if (at == 0)
		out[at++] = '.';
	out[at] = '\0';
	return true;
}

char *
text_copy(struct span s)
{
	char *copy = malloc(s.n + 1);

	if (copy != NULL) {
		memcpy(copy, s.p, s.n);
		copy[s.n] = '\0';
	}
	return copy;
}
