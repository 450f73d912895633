/*
 * The head of one request of HTTP/1, read as strictly as RFC 9112 lets a server be.  Whatever two servers might read in
 * two ways is not understood: empty lines before the request, a bare CR or LF, a line that goes on in the next, a space
 * around the name of a field, two hosts, a host in the target that differs from the header's, a body with two lengths.
 *
 *	METHOD target HTTP/1.0|1.1 CRLF  *(name ":" value CRLF)  CRLF
 *
 * CONNECT is not taken: behind a proxy nobody sees where the connection goes.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "flow/hello.h"

enum { METHOD_MOST = 32, LENGTH_DIGITS = 18 };

struct text {
	const char *p;
	size_t      n;
};

struct request {
	struct text  target, host;
	bool         is_11;
	unsigned     hosts, lengths, encodings;
	struct head *head;
};

/* ---- text ----------------------------------------------------------------------------- */

static bool
is(const struct text *t, const char *word)
{
	return t->n == strlen(word) && strncasecmp(t->p, word, t->n) == 0;
}

static bool
is_method(char c)
{
	return (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

/* Of a field's name. */
static bool
is_token(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* Of a field's value; bytes of other alphabets are let through. */
static bool
is_value(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

static bool
is_target(char c)
{
	return (unsigned char)c > ' ' && c != 0x7f;
}

static size_t
span(const struct text *t, bool (*is_one)(char))
{
	size_t i = 0;

	while (i < t->n && is_one(t->p[i]))
		i++;
	return i;
}

static struct text
trimmed(struct text t)
{
	for (; t.n > 0 && (t.p[0] == ' ' || t.p[0] == '\t'); t.n--)
		t.p++;
	while (t.n > 0 && (t.p[t.n - 1] == ' ' || t.p[t.n - 1] == '\t'))
		t.n--;
	return t;
}

/* ---- the first line ---------------------------------------------------------------------- */

/* Takes one part of the line and the space behind it; *left is what follows.  SAID_NAME: it is there. */
static enum said
take_part(struct text *left, bool (*is_one)(char), size_t most, struct text *part)
{
	size_t n = span(left, is_one);

	*part = (struct text){ left->p, n };
	if (n > most)
		return SAID_OTHER;
	if (n == left->n)
		return SAID_MORE;
	if (n == 0 || left->p[n] != ' ')
		return SAID_OTHER;
	*left = (struct text){ left->p + n + 1, left->n - n - 1 };
	return SAID_NAME;
}

/* "HTTP/1.0" or "HTTP/1.1" and the end of the line. */
static enum said
take_version(struct text *left, bool *is_11)
{
	static const char v10[] = "HTTP/1.0\r\n", v11[] = "HTTP/1.1\r\n";
	size_t            whole = sizeof(v10) - 1, n = left->n < whole ? left->n : whole;

	*is_11 = memcmp(left->p, v11, n) == 0;
	if (!*is_11 && memcmp(left->p, v10, n) != 0)
		return SAID_OTHER;
	if (n < whole)
		return SAID_MORE;
	*left = (struct text){ left->p + n, left->n - n };
	return SAID_NAME;
}

static enum said
take_line(struct text *left, struct request *r)
{
	struct text method;
	enum said   said = take_part(left, is_method, METHOD_MOST, &method);

	if (said == SAID_NAME)
		said = take_part(left, is_target, HELLO_MOST, &r->target);
	if (said == SAID_NAME)
		said = take_version(left, &r->is_11);
	return said == SAID_NAME && is(&method, "CONNECT") ? SAID_UNCLEAR : said;
}

/* ---- fields ------------------------------------------------------------------------------ */

static bool
take_length(struct head *h, const struct text *value)
{
	if (value->n == 0 || value->n > LENGTH_DIGITS)
		return false;
	for (size_t i = 0; i < value->n; i++) {
		if (!isdigit((unsigned char)value->p[i]))
			return false;
		h->body = 10 * h->body + (uint64_t)(value->p[i] - '0');
	}
	return true;
}

/* false: it cannot be understood. */
static bool
take_field(struct request *r, const struct text *name, const struct text *value)
{
	if (is(name, "Host")) {
		r->host = *value;
		return r->hosts++ == 0;
	}
	if (is(name, "Content-Length"))
		return r->lengths++ == 0 && take_length(r->head, value);
	if (is(name, "Transfer-Encoding")) {
		r->head->chunked = true;
		return r->encodings++ == 0 && r->is_11 && is(value, "chunked");
	}
	if (is(name, "Upgrade"))
		r->head->websocket = is(value, "websocket");
	return true;
}

/* SAID_NAME: that was the empty line. */
static enum said
take_fields(struct text *left, struct request *r)
{
	for (;;) {
		size_t      n = span(left, is_value);
		struct text line = { left->p, n }, name, value;

		if (n == left->n || (left->p[n] == '\r' && n + 1 == left->n))
			return SAID_MORE;
		if (left->p[n] != '\r' || left->p[n + 1] != '\n')
			return SAID_UNCLEAR;
		*left = (struct text){ left->p + n + 2, left->n - n - 2 };
		if (n == 0)
			return SAID_NAME;
		name = (struct text){ line.p, span(&line, is_token) };
		if (name.n == 0 || name.n == n || line.p[name.n] != ':')
			return SAID_UNCLEAR;
		value = trimmed((struct text){ line.p + name.n + 1, n - name.n - 1 });
		if (!take_field(r, &name, &value))
			return SAID_UNCLEAR;
	}
}

/* ---- whom it is for ------------------------------------------------------------------------- */

/* "name", "name:80". */
static bool
name_of(const struct text *t, char name[LIM_DNS_NAME + 1])
{
	const char *colon = memchr(t->p, ':', t->n);

	for (const char *p = colon; p != NULL && ++p < t->p + t->n;)
		if (!isdigit((unsigned char)*p))
			return false;
	return hello_name(t->p, colon != NULL ? (size_t)(colon - t->p) : t->n, name);
}

/* A target that names a host must name the same. */
static bool
target_agrees(const struct text *t, const char *name)
{
	static const char scheme[] = "http://";
	size_t            n = sizeof(scheme) - 1;
	char              other[LIM_DNS_NAME + 1];

	if (t->p[0] == '/' || is(t, "*"))
		return true;
	if (t->n <= n || strncasecmp(t->p, scheme, n) != 0)
		return false;
	struct text host = { t->p + n, 0 };
	while (n + host.n < t->n && strchr("/?#", host.p[host.n]) == NULL)
		host.n++;
	return name_of(&host, other) && strcmp(other, name) == 0;
}

enum said
hello_http(const char *bytes, size_t n, struct head *head, char name[LIM_DNS_NAME + 1])
{
	struct request r = { .head = head };
	struct text    left = { bytes, n };
	enum said      said = take_line(&left, &r);

	*head = (struct head){ 0 };
	if (said == SAID_NAME)
		said = take_fields(&left, &r);
	if (said != SAID_NAME)
		return said;
	head->bytes = n - left.n;
	if (r.lengths > 0 && r.encodings > 0)
		return SAID_UNCLEAR;
	if (r.hosts == 0)
		return SAID_NO_NAME;
	return name_of(&r.host, name) && target_agrees(&r.target, name) ? SAID_NAME : SAID_UNCLEAR;
}
