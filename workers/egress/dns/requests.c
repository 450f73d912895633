/*
 * A unit is what must be here as a whole before a byte of it passes: the head of a request, the line with the size of a
 * chunk, the end of a line behind a chunk.  With a head pass the bytes of its body, with a size those of its chunk.
 */
#include "dns/requests.h"

#include <string.h>

enum { SIZE_DIGITS = 8, END_BYTES = 2 };

static enum said
take_head(struct requests *r, const char *p, size_t n, char *name)
{
	struct head head;
	enum said   said = hello_http(p, n, &head, name);

	if (said == SAID_MORE && n >= HELLO_MOST)
		return SAID_LONG;
	if (said != SAID_NAME)
		return said == SAID_OTHER ? SAID_UNCLEAR : said;
	r->pass = head.bytes + head.body;
	r->at = head.chunked ? AT_SIZE : AT_HEAD;
	if (r->first && head.websocket && head.body == 0 && !head.chunked)
		r->at = AT_ANSWER;
	r->first = false;
	return SAID_NAME;
}

static int
digit_of(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char       *found = c != '\0' ? strchr(digits, c) : NULL;

	return found != NULL ? (int)((found - digits) % 16) : -1;
}

/* A number in hexadecimal and the end of the line; nobody sends what else could be there. */
static enum said
take_size(struct requests *r, const char *p, size_t n)
{
	uint64_t size = 0;
	size_t   i = 0;

	for (; i < n && i <= SIZE_DIGITS && digit_of(p[i]) >= 0; i++)
		size = 16 * size + (uint64_t)digit_of(p[i]);
	if (i > SIZE_DIGITS || (i == 0 && n > 0) || (i < n && p[i] != '\r') || (i + 1 < n && p[i + 1] != '\n'))
		return SAID_UNCLEAR;
	if (i + 1 >= n)
		return SAID_MORE;
	r->pass = i + END_BYTES + size;
	r->at = size > 0 ? AT_END : AT_LAST;
	return SAID_NOTHING;
}

static enum said
take_end(struct requests *r, const char *p, size_t n)
{
	if (memcmp(p, "\r\n", n < END_BYTES ? n : END_BYTES) != 0)
		return SAID_UNCLEAR;
	if (n < END_BYTES)
		return SAID_MORE;
	r->pass = END_BYTES;
	r->at = r->at == AT_END ? AT_SIZE : AT_HEAD;
	return SAID_NOTHING;
}

/* The next unit.  SAID_NAME: a head; SAID_NOTHING: any other. */
static enum said
take(struct requests *r, const char *p, size_t n, char *name)
{
	switch (r->at) {
	case AT_HEAD:
		return take_head(r, p, n, name);
	case AT_SIZE:
		return take_size(r, p, n);
	case AT_END:
	case AT_LAST:
		return take_end(r, p, n);
	case AT_ANSWER:
		return SAID_MORE;
	case AT_ANYTHING:
		break;
	}
	r->pass = n;
	return SAID_NOTHING;
}

/* From the state it is in, up to that many bytes or to the next head that is not the first byte. */
static size_t
walk(struct requests *r, const char *p, size_t n, size_t most, enum said *said, char *name)
{
	size_t at = 0;

	*said = SAID_NOTHING;
	while (at < most) {
		if (r->pass == 0) {
			enum said unit = at > 0 && r->at == AT_HEAD ? SAID_MORE : take(r, p + at, n - at, name);

			if (at == 0)
				*said = unit; /* what stops it later comes again at the beginning */
			if (unit != SAID_NOTHING && unit != SAID_NAME)
				return at;
		}
		size_t step = r->pass < most - at ? (size_t)r->pass : most - at;
		r->pass -= step;
		at += step;
	}
	return at;
}

size_t
requests_look(const struct requests *r, const char *bytes, size_t n, enum said *said, char name[LIM_DNS_NAME + 1])
{
	struct requests copy = *r;

	return walk(&copy, bytes, n, n, said, name);
}

void
requests_passed(struct requests *r, const char *bytes, size_t n, size_t passed)
{
	enum said said;
	char      name[LIM_DNS_NAME + 1];

	walk(r, bytes, n, passed, &said, name);
}

bool
requests_answered(struct requests *r, const char *bytes, size_t n, bool over)
{
	static const char agreed[] = "HTTP/1.1 101 ";
	size_t            whole = sizeof(agreed) - 1;

	if (n < whole && !over && memcmp(bytes, agreed, n) == 0)
		return false;
	r->at = n >= whole && memcmp(bytes, agreed, whole) == 0 ? AT_ANYTHING : AT_HEAD;
	return true;
}
