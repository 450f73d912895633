/*
 * Who reads a request differently from somebody else can be made to let things pass: so what has two readings
 * is refused.  That is every body, every header of ours that comes twice, a header's name with a space in it,
 * a target that is not plain ASCII (Debian builds http-parser without its strict mode, so both are looked for
 * here), a value that goes on in the next line, which http-parser would join to one, and NUL, which no library takes.
 */
#include "http/http_request.h"

#include <string.h>
#include <strings.h>

#include "base/bounds.h"

static const struct {
	const char *name;
	bool        several;
} known[] = {
#define H(E, name, several) [HEADER_##E] = { name, several },
	HTTP_HEADERS(H)
#undef H
};

/* What ends the reading. */
enum { STOP = 1 };

static int
refuse(struct http_request *r, unsigned status, const char *why)
{
	if (r->status == 0) {
		r->status = status;
		r->why = why;
	}
	return STOP;
}

static int
take_target(struct http_request *r, const char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (at[i] <= ' ' || at[i] > '~')
			return refuse(r, 400, "the target has bytes that must be percent-encoded");
	buf_append(&r->target, at, n);
	return 0;
}

static int
take_name(struct http_request *r, const char *at, size_t n)
{
	if (memchr(at, ' ', n) != NULL)
		return refuse(r, 400, "a header's name has a space in it");
	if (r->in_value)
		r->name_len = 0;
	r->in_value = false;
	for (size_t i = 0; i < n; i++, r->name_len++)
		if (r->name_len < HTTP_NAME)
			r->name[r->name_len] = at[i];
	return 0;
}

static int
find(const char *name, size_t n)
{
	for (int i = 0; i < HEADER__COUNT; i++)
		if (strlen(known[i].name) == n && strncasecmp(known[i].name, name, n) == 0)
			return i;
	return -1;
}

/* The first bytes of a value: whose is it? */
static int
begin_value(struct http_request *r)
{
	r->in_value = true;
	r->header = find(r->name, r->name_len);
	if (r->header == -1)
		return 0;
	if (r->headers[r->header].given && !known[r->header].several)
		return refuse(r, 400, "a header came twice that must not");
	if (r->headers[r->header].given)
		buf_append(&r->headers[r->header].value, ",", 1);
	r->headers[r->header].given = true;
	return 0;
}

static int
take_value(struct http_request *r, const char *at, size_t n)
{
	if (!r->in_value && begin_value(r) != 0)
		return STOP;
	if (r->header != -1)
		buf_append(&r->headers[r->header].value, at, n);
	return 0;
}

static int
take(void *arg, enum http1_part part, const char *at, size_t n)
{
	static int (*const fn[])(struct http_request *, const char *, size_t) = {
		[HTTP1_TARGET] = take_target,
		[HTTP1_NAME] = take_name,
		[HTTP1_VALUE] = take_value,
	};

	return fn[part](arg, at, n);
}

/* Make it a string, without the spaces behind it; those before it the library has left out. */
static void
seal(struct http_request *r, struct buf *b)
{
	while (b->len > 0 && (b->data[b->len - 1] == ' ' || b->data[b->len - 1] == '\t'))
		b->len--;
	buf_append(b, "", 1);
	if (b->failed)
		refuse(r, 503, "no memory");
}

static void
complete(struct http_request *r, char last)
{
	if (r->head.has_body)
		refuse(r, 413, "requests have no body here");
	if (last != '\n')
		refuse(r, 400, "the headers do not end with a line feed");
	seal(r, &r->target);
	for (int i = 0; i < HEADER__COUNT; i++)
		seal(r, &r->headers[i].value);
	r->done = r->status == 0;
}

/* What has come of the bytes that were read. */
static void
judge(struct http_request *r, char last)
{
	if (r->head.state == HTTP1_VERSION)
		refuse(r, 505, "HTTP/1.1 is spoken here");
	else if (r->head.state == HTTP1_BROKEN)
		refuse(r, 400, r->head.why);
	else if (r->head.state == HTTP1_DONE)
		complete(r, last);
	else if (r->fed >= LIM_HTTP_HEADER)
		refuse(r, 431, "request line and headers are too long");
}

/* Does a line begin with a space?  Such a line goes on with the value before it, or should. */
static bool
folds(struct http_request *r, const char *bytes, size_t n)
{
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		found |= r->last == '\n' && (bytes[i] == ' ' || bytes[i] == '\t');
		r->last = bytes[i];
	}
	return found;
}

size_t
http_request_feed(struct http_request *r, const char *bytes, size_t n)
{
	size_t room = LIM_HTTP_HEADER - r->fed;

	if (r->done || r->status != 0)
		return 0;
	size_t used = http1_feed(&r->head, bytes, n < room ? n : room);
	r->fed += used;
	if (folds(r, bytes, used))
		refuse(r, 400, "a header goes on in the next line");
	judge(r, used > 0 ? bytes[used - 1] : '\0');
	return used;
}

const char *
http_request_header(const struct http_request *r, enum http_header h)
{
	return r->headers[h].value.data;
}

bool
http_request_lists(const struct http_request *r, enum http_header h, const char *word)
{
	int (*differs)(const char *, const char *, size_t) = h == HEADER_PROTOCOL ? strncmp : strncasecmp;
	const char *at = http_request_header(r, h);
	size_t      len = strlen(word);

	while (*at != '\0') {
		at += strspn(at, " \t,");
		size_t n = strcspn(at, ",");
		size_t trimmed = n;
		while (trimmed > 0 && (at[trimmed - 1] == ' ' || at[trimmed - 1] == '\t'))
			trimmed--;
		if (trimmed == len && differs(at, word, len) == 0)
			return true;
		at += n;
	}
	return false;
}

void
http_request_init(struct http_request *r)
{
	*r = (struct http_request){ .header = -1 };
	http1_init(&r->head, take, r);
}

void
http_request_clear(struct http_request *r)
{
	buf_clear(&r->target);
	for (int i = 0; i < HEADER__COUNT; i++)
		buf_clear(&r->headers[i].value);
}
