/*
 * Who reads a request differently from somebody else can be made to let things pass: so what has two readings
 * is refused.  That is every body, every header of ours that comes twice, a header's name with a space in it,
 * a target that is not plain ASCII (Debian builds http-parser without its strict mode, so both are looked for
 * here), a value that goes on in the next line, which http-parser would join to one, and NUL, which it refuses.
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

/* What a callback returns to http-parser to end it. */
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
on_url(http_parser *p, const char *at, size_t n)
{
	struct http_request *r = p->data;

	for (size_t i = 0; i < n; i++)
		if (at[i] <= ' ' || at[i] > '~')
			return refuse(r, 400, "the target has bytes that must be percent-encoded");
	buf_append(&r->target, at, n);
	return 0;
}

static int
on_field(http_parser *p, const char *at, size_t n)
{
	struct http_request *r = p->data;

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
on_value(http_parser *p, const char *at, size_t n)
{
	struct http_request *r = p->data;

	if (!r->in_value && begin_value(r) != 0)
		return STOP;
	if (r->header != -1)
		buf_append(&r->headers[r->header].value, at, n);
	return 0;
}

/* 2 tells http-parser that what follows is not its business, whatever the headers say. */
static int
on_headers(http_parser *p)
{
	struct http_request *r = p->data;

	if (p->uses_transfer_encoding || (p->flags & F_CHUNKED) ||
	    ((p->flags & F_CONTENTLENGTH) && p->content_length != 0))
		return refuse(r, 413, "requests have no body here");
	if (p->http_major != 1 || p->http_minor > 1)
		return refuse(r, 505, "HTTP/1.1 is spoken here");
	return 2;
}

static int
on_complete(http_parser *p)
{
	struct http_request *r = p->data;

	r->done = true;
	return 0;
}

static const http_parser_settings settings = {
	.on_url = on_url,
	.on_header_field = on_field,
	.on_header_value = on_value,
	.on_headers_complete = on_headers,
	.on_message_complete = on_complete,
};

/* Make it a string, without the spaces behind it; those before it http-parser has left out. */
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
	if (last != '\n') {
		refuse(r, 400, "the headers do not end with a line feed");
		return;
	}
	seal(r, &r->target);
	for (int i = 0; i < HEADER__COUNT; i++)
		seal(r, &r->headers[i].value);
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
	size_t used = http_parser_execute(&r->parser, &settings, bytes, n < room ? n : room);
	r->fed += used;
	enum http_errno why = HTTP_PARSER_ERRNO(&r->parser);
	if (folds(r, bytes, used))
		refuse(r, 400, "a header goes on in the next line");
	if (r->status == 0 && why == HPE_HEADER_OVERFLOW)
		refuse(r, 431, "request line and headers are too long");
	else if (r->status == 0 && why == HPE_INVALID_VERSION)
		refuse(r, 505, "HTTP/1.1 is spoken here");
	else if (r->status == 0 && why != HPE_OK)
		refuse(r, 400, http_errno_description(why));
	else if (r->done)
		complete(r, used > 0 ? bytes[used - 1] : '\0');
	else if (r->fed >= LIM_HTTP_HEADER)
		refuse(r, 431, "request line and headers are too long");
	if (r->status != 0)
		r->done = false;
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
	http_parser_init(&r->parser, HTTP_REQUEST);
	r->parser.data = r;
}

void
http_request_clear(struct http_request *r)
{
	buf_clear(&r->target);
	for (int i = 0; i < HEADER__COUNT; i++)
		buf_clear(&r->headers[i].value);
}
