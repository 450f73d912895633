#include "langbot/stdio_frames.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "base/bounds.h"
#include "base/utf8.h"

/* ---- in ---- */

/* NULL: not an object. */
static json_t *
parse(const char *text, size_t n)
{
	json_t *v = json_loadb(text, n, JSON_ALLOW_NUL, NULL);

	if (json_is_object(v))
		return v;
	json_decref(v);
	return NULL;
}

static bool
has_type(const json_t *v, const char *type)
{
	const char *is = json_string_value(json_object_get(v, "type"));

	return is != NULL && strcmp(is, type) == 0;
}

/* -1 when it is not there, or no number. */
static int64_t
number(const json_t *v, const char *name)
{
	const json_t *n = json_object_get(v, name);

	return json_is_integer(n) ? json_integer_value(n) : -1;
}

static enum stdio_got
broken(struct err *e, const char *text)
{
	err_set(e, E_PROTO, "%s", text);
	return STDIO_BROKEN;
}

static enum stdio_got
start_chunks(struct stdio_in *s, const json_t *v, struct err *e)
{
	int64_t total = number(v, "total_size");

	if (total < 0 || (uint64_t)total > LIM_WS_MESSAGE)
		return broken(e, "Invalid runtime chunked message size");
	s->chunked = true;
	s->total = (uint64_t)total;
	s->lines = 0;
	s->message.len = 0;
	return STDIO_MORE;
}

static enum stdio_got
take_chunk(struct stdio_in *s, const json_t *v, struct err *e)
{
	const json_t *data = json_object_get(v, "data");

	if (number(v, "offset") != (int64_t)s->message.len)
		return broken(e, "Invalid runtime chunk offset");
	if (data != NULL && !json_is_string(data))
		return broken(e, "Invalid runtime chunk data");
	size_t n = json_string_length(data);
	if (n > s->total - s->message.len)
		return broken(e, "Runtime chunked message exceeds declared size");
	if (n > 0)
		buf_append(&s->message, json_string_value(data), n);
	return s->message.failed ? broken(e, "no memory for a message") : STDIO_MORE;
}

/* A peer drops a client that sends invalid UTF-8. */
static enum stdio_got
give_out(const char *text, size_t n, struct buf *out, struct err *e)
{
	*out = (struct buf){ 0 };
	bool valid = utf8_append(out, text, n);
	if (valid && !out->failed)
		return STDIO_MESSAGE;
	buf_clear(out);
	return broken(e, valid ? "no memory for a message" : "a message is not UTF-8");
}

static enum stdio_got
end_chunks(struct stdio_in *s, struct buf *out, struct err *e)
{
	if (s->message.len != s->total)
		return broken(e, "Incomplete runtime chunked message");
	s->chunked = false;
	enum stdio_got got = give_out(s->message.data, s->message.len, out, e);
	buf_clear(&s->message);
	return got;
}

/* A line between chunk_start and chunk_end; other lines are skipped. */
static enum stdio_got
chunk_line(struct stdio_in *s, const char *text, size_t n, struct buf *out, struct err *e)
{
	enum stdio_got got = STDIO_MORE;

	if (++s->lines > STDIO_CHUNK_LINES)
		return broken(e, "Runtime message has too many stdio fragments");
	json_t *v = parse(text, n);
	if (v == NULL && !utf8_is_valid(text, n))
		got = broken(e, "a message is not UTF-8");
	else if (v != NULL && has_type(v, "chunk_data"))
		got = take_chunk(s, v, e);
	else if (v != NULL && has_type(v, "chunk_end"))
		got = end_chunks(s, out, e);
	json_decref(v);
	return got;
}

/* Handed up as it is, also when it only looks like JSON: whoever reads it says what is wrong with it. */
static enum stdio_got
plain_line(struct stdio_in *s, const char *text, size_t n, struct buf *out, struct err *e)
{
	enum stdio_got got = STDIO_MESSAGE;

	if (n == 0 || text[0] != '{' || text[n - 1] != '}')
		return STDIO_MORE;
	json_t *v = parse(text, n);
	if (v != NULL && has_type(v, "chunk_start"))
		got = start_chunks(s, v, e);
	else if (v != NULL && (has_type(v, "chunk_data") || has_type(v, "chunk_end")))
		got = STDIO_MORE; /* of no message: upstream ignores it too */
	json_decref(v);
	return got == STDIO_MESSAGE ? give_out(text, n, out, e) : got;
}

static enum stdio_got
on_line(struct stdio_in *s, const char *text, size_t n, struct buf *out, struct err *e)
{
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	while (n > 0 && isspace((unsigned char)*text)) {
		text++;
		n--;
	}
	return s->chunked ? chunk_line(s, text, n, out, e) : plain_line(s, text, n, out, e);
}

enum stdio_got
stdio_take(struct stdio_in *s, const char **bytes, size_t *n, struct buf *out, struct err *e)
{
	while (*n > 0) {
		const char *newline = memchr(*bytes, '\n', *n);
		size_t      part = newline != NULL ? (size_t)(newline - *bytes) : *n;

		if (s->line.len + part >= STDIO_LINE)
			return broken(e, "a line is longer than 65536 bytes");
		buf_append(&s->line, *bytes, part);
		if (s->line.failed)
			return broken(e, "no memory for a line");
		*bytes += part + (newline != NULL);
		*n -= part + (newline != NULL);
		if (newline == NULL)
			break;
		enum stdio_got got = on_line(s, s->line.data, s->line.len, out, e);
		s->line.len = 0;
		if (got != STDIO_MORE)
			return got;
	}
	return STDIO_MORE;
}

enum stdio_got
stdio_end(struct stdio_in *s, struct buf *out, struct err *e)
{
	size_t n = s->line.len;

	s->line.len = 0;
	return n > 0 ? on_line(s, s->line.data, n, out, e) : STDIO_MORE;
}

void
stdio_clear(struct stdio_in *s)
{
	buf_clear(&s->line);
	buf_clear(&s->message);
}

/* ---- out ---- */

static void
put_escaped(struct buf *out, char c)
{
	if (c == '"' || c == '\\') {
		buf_append(out, "\\", 1);
		buf_append(out, &c, 1);
	} else if (c == '\n') {
		buf_append(out, "\\n", 2);
	} else if ((unsigned char)c < 0x20 || c == 0x7f) {
		buf_printf(out, "\\u%04x", (unsigned)c);
	} else {
		buf_append(out, &c, 1);
	}
}

/* So many bytes of the message for one line: whole characters, and escaped they must fit it. */
static size_t
chunk_of(const char *p, size_t n)
{
	size_t take = 0, escaped = 0;

	while (take < n && take < STDIO_CHUNK && escaped < STDIO_LINE / 4 * 3) {
		escaped += (unsigned char)p[take] < 0x20 || p[take] == 0x7f ? 6 : 2;
		take++;
	}
	return take < n ? take - utf8_unfinished(p, take) : n;
}

static void
put_chunks(struct buf *out, const char *p, size_t n)
{
	buf_printf(out, "{\"type\": \"chunk_start\", \"total_size\": %zu}\n", n);
	for (size_t at = 0, part; at < n; at += part) {
		part = chunk_of(p + at, n - at);
		buf_printf(out, "{\"type\": \"chunk_data\", \"data\": \"");
		for (size_t i = 0; i < part; i++)
			put_escaped(out, p[at + i]);
		buf_printf(out, "\", \"offset\": %zu}\n", at);
	}
	buf_printf(out, "{\"type\": \"chunk_end\"}\n");
}

/* A newline in JSON is a blank, unless it is escaped; in a line it would end it. */
static void
put_line(struct buf *out, const char *p, size_t n)
{
	size_t from = out->len;

	buf_append(out, p, n);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == '\n' || out->data[i] == '\r')
			out->data[i] = ' ';
	buf_append(out, "\n", 1);
}

void
stdio_put(struct buf *out, const char *message, size_t n)
{
	if (n <= STDIO_CHUNK)
		put_line(out, message, n);
	else
		put_chunks(out, message, n);
}
