/* The output of a process becomes messages: one line each or pieces, always whole characters, however it was cut. */
#include "base/bounds.h"
#include "check.h"
#include "tap.h"
#include "workers/gateway/relay/framer.h"

/* What came out, each message with a bar behind it. */
struct seen {
	struct buf all;
	size_t     n, longest;
	bool       too_long;
};

static void
see(struct seen *s, enum framed what, struct buf *text)
{
	if (what == FRAMED_TOO_LONG)
		s->too_long = true;
	if (what != FRAMED_MESSAGE)
		return;
	s->n++;
	if (text->len > s->longest)
		s->longest = text->len;
	buf_append(&s->all, text->data, text->len);
	buf_append(&s->all, "|", 1);
	buf_clear(text);
}

static void
push(struct framer *f, struct seen *s, uint64_t offset, const char *bytes, size_t n)
{
	struct buf text = { 0 };

	if (!f->begun)
		framer_begin(f, offset);
	while (n > 0)
		see(s, framer_next(f, &bytes, &n, &text), &text);
}

static const char *
text_of(struct seen *s)
{
	buf_append(&s->all, "", 1);
	return s->all.data;
}

static void
finish(struct framer *f, struct seen *s)
{
	struct buf text = { 0 };

	see(s, framer_end(f, &text), &text);
	framer_clear(f);
}

/* All in pieces of one size. */
static struct seen
cut(bool lines, size_t most, uint64_t from, const char *bytes, size_t n, size_t piece)
{
	struct framer f;
	struct seen   s = { 0 };

	framer_init(&f, lines, most);
	for (size_t i = 0; i < n; i += piece)
		push(&f, &s, from + i, bytes + i, n - i < piece ? n - i : piece);
	finish(&f, &s);
	return s;
}

/* The same result for every size of piece, and every place of a single cut. */
static void
same_in_all_splits(const char *what, uint64_t from, const char *bytes, const char *want)
{
	size_t n = strlen(bytes), wrong = 0;

	for (size_t piece = 1; piece <= n; piece++) {
		struct seen s = cut(true, MIB, from, bytes, n, piece);

		wrong += strcmp(text_of(&s), want) != 0;
		buf_clear(&s.all);
	}
	for (size_t at = 1; at < n; at++) {
		struct framer f;
		struct seen   s = { 0 };

		framer_init(&f, true, MIB);
		push(&f, &s, from, bytes, at);
		push(&f, &s, from + at, bytes + at, n - at);
		finish(&f, &s);
		wrong += strcmp(text_of(&s), want) != 0;
		buf_clear(&s.all);
	}
	cmp_ok(wrong, "==", 0, "%s: in all splits", what);
}

TEST(lines)
{
	same_in_all_splits("two lines", 0, "{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}|{\"b\":2}|");
	same_in_all_splits("an unfinished last line", 0, "one\ntwo", "one|two|");
	same_in_all_splits("empty and blank lines are none", 0, "\n\none\n \t\r\n\r\ntwo\n\n", "one|two|");
	same_in_all_splits("a carriage return stays", 0, "one\r\ntwo\r\n", "one\r|two\r|");
	same_in_all_splits("characters of every length", 0,
	    "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z\n\xf0\x9f\x98\x80\n",
	    "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z|\xf0\x9f\x98\x80|");
	same_in_all_splits("broken ones", 0,
	    "a\xff"
	    "b\xe2\x82\n\xf0\x9f\x98\n\x80\n",
	    "a\xef\xbf\xbd"
	    "b\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd|");
	same_in_all_splits("a stream that begins behind a newline", 41, "\none\ntwo\n", "one|two|");
	same_in_all_splits("a stream that begins in a line", 41, "st of it\none\ntwo\n", "one|two|");
	same_in_all_splits("one that has no line at all", 41, "st of it", "");
}

TEST(nul)
{
	struct seen s = cut(true, MIB, 0, "a\0b\n\0\n", 6, 6);

	ok(s.n == 2 && s.all.len == 6 && memcmp(s.all.data, "a\0b|\0|", 6) == 0, "a NUL is a character");
	buf_clear(&s.all);
}

/* Whatever is cut where: put together again it is what repairing the whole gives, and no message has half a character. */
TEST(raw)
{
	const char  text[] = "\xf0\x9f\x98\x80"
			     "a\xe2\x82\xac\n\xc3\xa4\xff\xe2\x82"
			     "b\xf0\x9f\x98\x80";
	const char *want = "\xf0\x9f\x98\x80"
			   "a\xe2\x82\xac\n\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd"
			   "b\xf0\x9f\x98\x80";
	size_t      wrong = 0;

	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct seen s = cut(false, LIM_RELAY_CHUNK, 0, text, sizeof(text) - 1, piece);
		struct buf  joined = { 0 };

		for (size_t i = 0; i < s.all.len; i++)
			if (s.all.data[i] != '|')
				buf_append(&joined, s.all.data + i, 1);
		for (size_t i = 0; i + 1 < s.all.len; i++) /* behind a bar begins a character */
			wrong += s.all.data[i] == '|' && ((unsigned char)s.all.data[i + 1] & 0xc0) == 0x80;
		buf_append(&joined, "", 1);
		wrong += strcmp(joined.data, want) != 0;
		buf_clear(&joined);
		buf_clear(&s.all);
	}
	cmp_ok(wrong, "==", 0, "pieces end with whole characters, cut at every byte");

	struct seen s = cut(false, LIM_RELAY_CHUNK, 0, "ab\xe2\x82", 4, 4);
	is(text_of(&s), "ab|\xef\xbf\xbd|", "half a character at the end becomes one that says so");
	buf_clear(&s.all);
	s = cut(false, LIM_RELAY_CHUNK, 9,
	    "\x82\xac"
	    "ab",
	    4, 4);
	is(text_of(&s),
	    "\xef\xbf\xbd\xef\xbf\xbd"
	    "ab|",
	    "pieces begin wherever the stream does");
	buf_clear(&s.all);
}

TEST(raw_sizes)
{
	char *bytes = malloc(MIB);

	memset(bytes, 0xff, MIB);
	struct seen s = cut(false, LIM_RELAY_CHUNK, 0, bytes, MIB, MIB);
	ok(s.longest <= LIM_RELAY_CHUNK && !s.too_long,
	    "no piece is over 64 KiB, though every byte becomes three (%zu)", s.longest);
	cmp_ok(s.all.len, "==", 3 * MIB + s.n, "and all of it is there");
	buf_clear(&s.all);
	free(bytes);
}

/* ---- long lines ---- */

TEST(long_lines)
{
	struct framer f;
	struct seen   s = { 0 };

	framer_init(&f, true, 8);
	push(&f, &s, 0, "12345678\n", 9);
	ok(s.n == 1 && !s.too_long, "a line of just the limit passes");
	cmp_ok(framer_whole(&f), "==", 9, "and is whole");
	push(&f, &s, 9, "1234", 4);
	cmp_ok(framer_whole(&f), "==", 9, "half a line is not");
	push(&f, &s, 13, "56789", 5);
	ok(s.too_long && s.n == 1, "one byte more is too long, and no message");
	cmp_ok(framer_whole(&f), "==", 18, "what came of it is done with");
	push(&f, &s, 18, "rest\nnext\n", 10);
	is(text_of(&s), "12345678|next|", "its rest is skipped, what is behind it is not");
	framer_clear(&f);
	buf_clear(&s.all);

	s = cut(true, 8, 0, "\xff\xff\xff\nok\n", 7, 7);
	ok(s.too_long, "the limit is for what is sent: three broken bytes are nine");
	is(text_of(&s), "ok|", "and the line behind it comes");
	buf_clear(&s.all);
	s = cut(true, 8, 0, "123456789012345678901234567890", 30, 30);
	ok(s.too_long && s.n == 0, "a long line without an end is no message either");
	buf_clear(&s.all);
}

/* Random lines, random cuts: the messages are the lines. */
TEST(many)
{
	struct buf bytes = { 0 }, want = { 0 };

	for (int i = 0; i < 20000; i++) {
		char   line[64];
		size_t n = rnd() % 60;

		for (size_t k = 0; k < n; k++)
			line[k] = (char)('a' + rnd() % 26);
		buf_append(&bytes, line, n);
		buf_append(&bytes, "\n", 1);
		buf_append(&want, line, n);
		if (n > 0)
			buf_append(&want, "|", 1);
	}
	struct framer f;
	struct seen   s = { 0 };
	framer_init(&f, true, MIB);
	for (size_t i = 0; i < bytes.len;) {
		size_t n = 1 + rnd() % 3000;

		n = n < bytes.len - i ? n : bytes.len - i;
		push(&f, &s, i, bytes.data + i, n);
		i += n;
	}
	ok(s.all.len == want.len && memcmp(s.all.data, want.data, want.len) == 0, "20000 lines cut at random");
	cmp_ok(framer_whole(&f), "==", bytes.len, "all of them whole");
	framer_clear(&f);
	buf_clear(&s.all);
	buf_clear(&bytes);
	buf_clear(&want);
}
