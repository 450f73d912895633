/*
 * Is it a request, and for whom?  What begins as a method could, with any token, is waited for until its line is whole;
 * a line that speaks of HTTP makes it a request, of which http-parser then has the word.  Everything else passes as soon
 * as it can be told apart, because its client may wait for an answer to it.
 *
 * Of what servers might read in two ways nothing passes: two hosts, a host in the target that is not the host of the
 * header, a method that http-parser does not know.
 */
#include <ctype.h>
#include <http_parser.h>
#include <string.h>
#include <strings.h>

#include "hello.h"

enum { STOP = 1 };

struct request {
	bool        in_host;   /* the header that is being read is that */
	bool        in_value;  /* and of it the value */
	bool        unclear;   /* two of them, or too long */
	bool        done;      /* all headers are here */
	size_t      hosts;     /* headers of that name */
	char        field[8];  /* of the header's name, what is needed to know it */
	size_t      field_len; /* may be longer than what is kept */
	const char *url;       /* the target */
	size_t      url_len;
	char        host[LIM_DNS_NAME + 16]; /* with a port */
	size_t      host_len;
};

static int
on_url(http_parser *p, const char *at, size_t n)
{
	struct request *r = p->data;

	if (r->url == NULL)
		r->url = at;
	if (at != r->url + r->url_len)
		return STOP;
	r->url_len += n;
	return 0;
}

static int
on_field(http_parser *p, const char *at, size_t n)
{
	struct request *r = p->data;

	if (r->in_value)
		r->field_len = 0;
	r->in_value = false;
	for (size_t i = 0; i < n; i++, r->field_len++)
		if (r->field_len < sizeof(r->field))
			r->field[r->field_len] = at[i];
	return 0;
}

/* Debian's http-parser takes spaces in a header's name, and so might a server: "Host : other". */
static bool
is_host(const struct request *r)
{
	return r->field_len >= 4 && strncasecmp(r->field, "host", 4) == 0 && (r->field_len == 4 || r->field[4] == ' ');
}

static int
on_value(http_parser *p, const char *at, size_t n)
{
	struct request *r = p->data;

	if (!r->in_value) {
		r->in_value = true;
		r->in_host = is_host(r);
		r->hosts += r->in_host;
	}
	if (!r->in_host)
		return 0;
	if (n > sizeof(r->host) - r->host_len) {
		r->unclear = true;
		return STOP;
	}
	memcpy(r->host + r->host_len, at, n);
	r->host_len += n;
	return 0;
}

static int
on_headers(http_parser *p)
{
	struct request *r = p->data;

	r->done = true;
	return STOP; /* what follows is nobody's business */
}

static const http_parser_settings settings = {
	.on_url = on_url,
	.on_header_field = on_field,
	.on_header_value = on_value,
	.on_headers_complete = on_headers,
};

/* "name", "name:80", with spaces behind it. */
static bool
name_of_host(const char *text, size_t n, char name[LIM_DNS_NAME + 1])
{
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	const char *colon = memchr(text, ':', n);
	for (const char *p = colon; p != NULL && ++p < text + n;)
		if (!isdigit((unsigned char)*p))
			return false;
	return hello_name(text, colon != NULL ? (size_t)(colon - text) : n, name);
}

/* A target that names a host must name the same. */
static bool
target_agrees(const struct request *r, bool connect, const char *name)
{
	struct http_parser_url u;
	char                   other[LIM_DNS_NAME + 1];

	http_parser_url_init(&u);
	if (r->url_len > 0 && (r->url[0] == '/' || (r->url[0] == '*' && r->url_len == 1)))
		return true;
	if (http_parser_parse_url(r->url, r->url_len, connect, &u) != 0 || !(u.field_set & (1 << UF_HOST)))
		return false;
	return hello_name(r->url + u.field_data[UF_HOST].off, u.field_data[UF_HOST].len, other) &&
	       strcmp(other, name) == 0;
}

/* A line that goes on in the next: some join the two, and some do not. */
static bool
has_fold(const char *bytes, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (bytes[i] == '\n' && (bytes[i + 1] == ' ' || bytes[i + 1] == '\t'))
			return true;
	return false;
}

static enum said
read_request(const char *bytes, size_t n, char *name)
{
	struct request r = { 0 };
	http_parser    p;

	http_parser_init(&p, HTTP_REQUEST);
	p.data = &r;
	size_t read = http_parser_execute(&p, &settings, bytes, n);
	if (!r.done && !r.unclear && HTTP_PARSER_ERRNO(&p) == HPE_OK)
		return SAID_MORE;
	if (!r.done || r.unclear || r.hosts > 1 || has_fold(bytes, read))
		return SAID_UNCLEAR;
	if (r.hosts == 0)
		return SAID_NO_NAME;
	if (!name_of_host(r.host, r.host_len, name) || !target_agrees(&r, p.method == HTTP_CONNECT, name))
		return SAID_UNCLEAR;
	return SAID_NAME;
}

static bool
speaks_of_http(const char *line, size_t n)
{
	for (size_t i = 0; i + 5 <= n; i++)
		if (strncasecmp(line + i, "HTTP/", 5) == 0)
			return true;
	return false;
}

/* Of a method, as RFC 9110 has it: any token, and some servers serve every one. */
static bool
is_token(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* Where the line begins: servers pass over empty ones before it. */
static size_t
line_start(const char *bytes, size_t n)
{
	size_t i = 0;

	while (i < n && strchr("\r\n\t ", bytes[i]) != NULL && bytes[i] != '\0')
		i++;
	return i;
}

/* A byte that is in no line of text; git's own protocol has one before a line could end. */
static bool
is_binary(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\r')
			return true;
	return false;
}

static bool
is_word(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalpha((unsigned char)bytes[i]) && bytes[i] != '-' && bytes[i] != '_')
			return false;
	return true;
}

enum said
hello_http(const char *bytes, size_t n, bool over, char name[LIM_DNS_NAME + 1])
{
	enum said   rest = over ? SAID_NOTHING : SAID_MORE; /* without a whole line it is no request */
	size_t      start = line_start(bytes, n), method = start;
	const char *end = memchr(bytes + start, '\n', n - start);

	while (method < n && is_token(bytes[method]))
		method++;
	if (method == n)
		return rest;
	if (method == start || (bytes[method] != ' ' && bytes[method] != '\t'))
		return SAID_NOTHING;
	if (end == NULL && is_binary(bytes + method, n - method) && !is_word(bytes + start, method - start))
		return SAID_NOTHING;
	if (end == NULL)
		return rest;
	if (!speaks_of_http(bytes + start, (size_t)(end - bytes) - start))
		return SAID_NOTHING;
	return read_request(bytes, n, name);
}
