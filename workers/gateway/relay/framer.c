#include "relay/framer.h"

#include <assert.h>
#include <string.h>

#include "base/bounds.h"
#include "base/utf8.h"

/* A broken byte becomes three, and the message must fit all the same. */
#define RAW_PIECE (LIM_RELAY_CHUNK / 3 - 4)

void
framer_init(struct framer *f, bool lines, size_t most)
{
	*f = (struct framer){ .lines = lines, .most = most };
}

void
framer_clear(struct framer *f)
{
	buf_clear(&f->held);
}

uint64_t
framer_whole(const struct framer *f)
{
	assert(f->held.len <= f->at);
	return f->at - f->held.len;
}

void
framer_begin(struct framer *f, uint64_t offset)
{
	f->begun = true;
	f->at = offset;
	f->skipping = f->lines && offset > 0;
}

static bool
is_blank(const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != ' ' && bytes[i] != '\t' && bytes[i] != '\r')
			return false;
	return true;
}

/* One long line is no reason to hold its memory for ever. */
static void
let_go(struct framer *f)
{
	f->held.len = 0;
	if (f->held.cap > LIM_RELAY_CHUNK)
		buf_clear(&f->held);
}

/* Mostly there is nothing to repair, and one allocation is all. */
static enum framed
message(struct framer *f, const char *bytes, size_t n, struct buf *out)
{
	*out = (struct buf){ 0 };
	if (buf_reserve(out, n) == 0)
		utf8_append(out, bytes, n);
	enum framed verdict = out->failed ? FRAMED_NO_MEMORY : out->len > f->most ? FRAMED_TOO_LONG : FRAMED_MESSAGE;
	if (verdict != FRAMED_MESSAGE)
		buf_clear(out);
	return verdict;
}

static void
take(struct framer *f, const char **bytes, size_t *n, size_t count)
{
	assert(count <= *n);
	*bytes += count;
	*n -= count;
	f->at += count;
}

/* ---- lines ---- */

/* Up to the newline, or all there is. */
static void
skip_rest(struct framer *f, const char **bytes, size_t *n)
{
	const char *newline = memchr(*bytes, '\n', *n);
	size_t      part = newline != NULL ? (size_t)(newline - *bytes) : *n;

	f->skipped += part;
	f->skipping = newline == NULL;
	take(f, bytes, n, part + (newline != NULL));
}

/* All of a line is here, perhaps with a beginning that came before. */
static enum framed
whole_line(struct framer *f, const char **bytes, size_t *n, size_t part, struct buf *out)
{
	const char *line = *bytes;
	size_t      len = part;
	enum framed verdict = FRAMED_NONE;

	if (f->held.len > 0) {
		buf_append(&f->held, *bytes, part);
		line = f->held.data;
		len = f->held.len;
	}
	if (f->held.failed)
		verdict = FRAMED_NO_MEMORY;
	else if (!is_blank(line, len))
		verdict = message(f, line, len, out);
	let_go(f);
	take(f, bytes, n, part + 1);
	return verdict;
}

static enum framed
part_of_line(struct framer *f, const char **bytes, size_t *n)
{
	buf_append(&f->held, *bytes, *n);
	take(f, bytes, n, *n);
	return f->held.failed ? FRAMED_NO_MEMORY : FRAMED_NONE;
}

static enum framed
too_long(struct framer *f, const char **bytes, size_t *n)
{
	buf_clear(&f->held);
	skip_rest(f, bytes, n);
	return FRAMED_TOO_LONG;
}

static enum framed
next_line(struct framer *f, const char **bytes, size_t *n, struct buf *out)
{
	enum framed verdict = FRAMED_NONE;

	while (*n > 0 && verdict == FRAMED_NONE) {
		if (f->skipping) {
			skip_rest(f, bytes, n);
			continue;
		}
		const char *newline = memchr(*bytes, '\n', *n);
		size_t      part = newline != NULL ? (size_t)(newline - *bytes) : *n;
		if (f->held.len + part > f->most)
			verdict = too_long(f, bytes, n);
		else if (newline != NULL)
			verdict = whole_line(f, bytes, n, part, out);
		else
			verdict = part_of_line(f, bytes, n);
	}
	return verdict;
}

/* ---- pieces ---- */

static enum framed
next_piece(struct framer *f, const char **bytes, size_t *n, struct buf *out)
{
	while (*n > 0) {
		size_t part = *n < RAW_PIECE ? *n : RAW_PIECE;

		buf_append(&f->held, *bytes, part);
		take(f, bytes, n, part);
		if (f->held.failed)
			return FRAMED_NO_MEMORY;
		size_t tail = utf8_unfinished(f->held.data, f->held.len), whole = f->held.len - tail;
		assert(tail <= f->held.len);
		if (whole == 0)
			continue;
		enum framed verdict = message(f, f->held.data, whole, out);
		memmove(f->held.data, f->held.data + whole, tail);
		f->held.len = tail;
		return verdict;
	}
	return FRAMED_NONE;
}

/* ---- both ---- */

enum framed
framer_next(struct framer *f, const char **bytes, size_t *n, struct buf *out)
{
	return f->lines ? next_line(f, bytes, n, out) : next_piece(f, bytes, n, out);
}

enum framed
framer_end(struct framer *f, struct buf *out)
{
	enum framed verdict = FRAMED_NONE;

	if (f->held.len > 0 && !(f->lines && is_blank(f->held.data, f->held.len)))
		verdict = message(f, f->held.data, f->held.len, out);
	buf_clear(&f->held);
	return verdict;
}
