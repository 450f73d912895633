#include "outtext.h"

#include <stdio.h>

#include "utf8.h"

/* ---- blanks ---- */

/* Of valid UTF-8 at p; *len is how many bytes it takes. */
static uint32_t
character(const unsigned char *p, size_t *len)
{
	uint32_t c;

	*len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	c = *len == 1 ? p[0] : p[0] & (0xffU >> (*len + 1));
	for (size_t i = 1; i < *len; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* What Python's str.strip takes off. */
static bool
is_blank(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} blanks[] = {
		{ 0x09, 0x0d },
		{ 0x1c, 0x20 },
		{ 0x85, 0x85 },
		{ 0xa0, 0xa0 },
		{ 0x1680, 0x1680 },
		{ 0x2000, 0x200a },
		{ 0x2028, 0x2029 },
		{ 0x202f, 0x202f },
		{ 0x205f, 0x205f },
		{ 0x3000, 0x3000 },
	};

	for (size_t i = 0; i < sizeof(blanks) / sizeof(*blanks); i++)
		if (c >= blanks[i].first && c <= blanks[i].last)
			return true;
	return false;
}

static bool
is_lead(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

/* Off both ends of what stands in the buffer from start on. */
static void
strip(struct buf *b, size_t start)
{
	size_t from = start, len;

	while (from < b->len && is_blank(character((unsigned char *)b->data + from, &len)))
		from += len;
	while (b->len > from) {
		size_t last = b->len - 1;

		while (!is_lead(b->data[last]))
			last--;
		if (!is_blank(character((unsigned char *)b->data + last, &len)))
			break;
		b->len = last;
	}
	for (size_t i = from; from > start && i < b->len; i++)
		b->data[start + i - from] = b->data[i];
	b->len -= from - start;
}

void
outtext_clean(struct buf *out, const char *bytes, size_t n, uint64_t total)
{
	size_t start = out->len;

	utf8_append(out, bytes, n);
	if (out->failed)
		return;
	strip(out, start);
	if (total > n)
		buf_printf(out, "\n... [raw output clipped at %zu bytes, %lu bytes discarded]", n, total - n);
}

/* ---- too long ---- */

static size_t
count(const char *text, size_t n)
{
	size_t characters = 0;

	for (size_t i = 0; i < n; i++)
		characters += is_lead(text[i]);
	return characters;
}

/* Where the k-th character begins. */
static size_t
offset_of(const char *text, size_t n, size_t k)
{
	size_t i = 0;

	for (; i < n; i++)
		if (is_lead(text[i]) && k-- == 0)
			break;
	return i;
}

/*
 * The notice tells how much is left out, which depends on how long the notice is: a few rounds settle it, and
 * LangBot makes four.
 */
bool
outtext_truncate(struct buf *out, const char *text, size_t n, size_t limit)
{
	enum { ROUNDS = 4 };
	size_t length = count(text, n), head = 0, tail = 0;
	char   notice[64];
	int    noted = 0;

	if (length <= limit) {
		buf_append(out, text, n);
		return false;
	}
	for (int i = 0; i < ROUNDS; i++) {
		size_t kept = head + tail;

		noted = snprintf(notice, sizeof(notice), "\n\n... [%zu characters truncated] ...\n\n",
		    length > kept ? length - kept : 0);
		if ((size_t)noted >= limit) {
			buf_append(out, notice, limit);
			return true;
		}
		size_t room = limit - (size_t)noted, h = room * 6 / 10;
		if (h == head && room - h == tail)
			break;
		head = h;
		tail = room - h;
	}
	buf_append(out, text, offset_of(text, n, head));
	buf_append(out, notice, (size_t)noted);
	size_t from = offset_of(text, n, length - tail);
	buf_append(out, text + from, n - from);
	return true;
}
