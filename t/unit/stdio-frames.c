/* LangBot's stdio framing: lines and chunks, in both directions, with every rule of upstream's. */
#include "base/bounds.h"
#include "boxctl/langbot/stdio_frames.h"
#include "check.h"
#include "tap.h"

/* What came out, each message with a bar behind it. */
struct seen {
	struct buf all;
	size_t     n;
	bool       broken;
	struct err e;
};

static bool
see(struct seen *s, enum stdio_got got, struct buf *out)
{
	if (got == STDIO_BROKEN)
		s->broken = true;
	if (got != STDIO_MESSAGE)
		return false;
	s->n++;
	buf_append(&s->all, out->data, out->len);
	buf_append(&s->all, "|", 1);
	buf_clear(out);
	return true;
}

static void
push(struct stdio_in *in, struct seen *s, const char *bytes, size_t n)
{
	struct buf out = { 0 };

	while (!s->broken && see(s, stdio_take(in, &bytes, &n, &out, &s->e), &out))
		;
}

static struct seen
read_all(const char *bytes, size_t n, size_t piece)
{
	struct stdio_in in = { 0 };
	struct seen     s = { 0 };
	struct buf      out = { 0 };

	for (size_t i = 0; i < n && !s.broken; i += piece)
		push(&in, &s, bytes + i, n - i < piece ? n - i : piece);
	if (!s.broken)
		see(&s, stdio_end(&in, &out, &s.e), &out);
	stdio_clear(&in);
	buf_append(&s.all, "", 1);
	return s;
}

static void
reads(const char *bytes, const char *want, const char *what)
{
	size_t n = strlen(bytes), wrong = 0;

	for (size_t piece = 1; piece <= n; piece++) {
		struct seen s = read_all(bytes, n, piece);

		if (s.broken || strcmp(s.all.data, want) != 0) {
			if (wrong++ == 0)
				diag("got '%s', broken %d %s", s.all.data, s.broken, s.e.text);
		}
		buf_clear(&s.all);
	}
	cmp_ok(wrong, "==", 0, "%s, in all splits", what);
}

static void
breaks(const char *bytes, const char *why, const char *what)
{
	struct seen s = read_all(bytes, strlen(bytes), 7);

	ok(s.broken && strcmp(s.e.text, why) == 0, "%s is fatal: %s", what, why);
	if (!s.broken || strcmp(s.e.text, why) != 0)
		diag("broken %d '%s', messages '%s'", s.broken, s.e.text, s.all.data);
	buf_clear(&s.all);
}

#define START(n) "{\"type\": \"chunk_start\", \"total_size\": " #n "}\n"
#define DATA(text, at) "{\"type\": \"chunk_data\", \"data\": \"" text "\", \"offset\": " #at "}\n"
#define END "{\"type\": \"chunk_end\"}\n"

TEST(lines)
{
	reads("{\"a\": 1}\n{\"b\": 2}\n", "{\"a\": 1}|{\"b\": 2}|", "two lines");
	reads("{\"a\": 1}", "{\"a\": 1}|", "a last line without a newline");
	reads("  {\"a\": 1} \t\r\n", "{\"a\": 1}|", "blanks around a line");
	reads("INFO started\n\n   \n[1]\n\"x\"\n5\n{\"a\": 1}\n{ half\nhalf }\n", "{\"a\": 1}|", "junk is ignored");
	reads("{not json}\n{\"a\": 1}\n", "{not json}|{\"a\": 1}|", "what looks like a message is handed up");
	reads("{\"type\": \"other\"}\n{\"type\": 5}\n{\"type\": null}\n",
	    "{\"type\": \"other\"}|{\"type\": 5}|{\"type\": null}|", "another type is no matter");
	reads("{\"a\": \"\xc3\xa4\xf0\x9f\x98\x80\"}\n", "{\"a\": \"\xc3\xa4\xf0\x9f\x98\x80\"}|", "UTF-8 passes");
	reads("\xff\xfe log\n{\"a\": 1}\n", "{\"a\": 1}|", "junk need not be UTF-8");
	breaks("{\"a\": \"\xff\"}\n", "a message is not UTF-8", "a message that is not");
	breaks(START(1) DATA("\xff", 0) END, "a message is not UTF-8", "a chunked one that is not");
}

TEST(good_chunks)
{
	reads(START(8) DATA("{\\\"a\\\"", 0) DATA(": 1}", 4) END "{\"b\": 2}\n", "{\"a\": 1}|{\"b\": 2}|",
	    "a message in chunks");
	reads(START(8) "\n  \nlog line\n{half\n" DATA("{\\\"a\\\"", 0) "[3]\n{\"type\": \"x\"}\n" DATA(": 1}", 4) END,
	    "{\"a\": 1}|", "junk between chunks is skipped");
	reads(START(5) DATA("\\u00e4\xe2\x82\xac", 0) END, "\xc3\xa4\xe2\x82\xac|", "sizes are bytes of UTF-8");
	reads(START(0) END, "|", "an empty one");
	reads(START(2) DATA("", 0) DATA("{}", 0) END, "{}|", "an empty chunk");
	reads(DATA("x", 0) END "{\"a\": 1}\n", "{\"a\": 1}|", "chunks of no message are ignored");
	reads(START(2) DATA("{}", 0) "{\"type\": \"chunk_end\"}", "{}|", "its end without a newline");
	reads(START(2) DATA("{}", 0), "", "one without an end is none");
}

TEST(bad_chunks)
{
	breaks("{\"type\": \"chunk_start\"}\n", "Invalid runtime chunked message size", "no size");
	breaks(START(-1), "Invalid runtime chunked message size", "a negative size");
	breaks(START(16777217), "Invalid runtime chunked message size", "more than 16 MiB");
	breaks(START(4) DATA("ab", 1), "Invalid runtime chunk offset", "a wrong offset");
	breaks(START(4) DATA("ab", 0) DATA("cd", 0), "Invalid runtime chunk offset", "an offset twice");
	breaks(START(4) "{\"type\": \"chunk_data\", \"data\": \"ab\"}\n", "Invalid runtime chunk offset", "no offset");
	breaks(START(4) "{\"type\": \"chunk_data\", \"data\": 5, \"offset\": 0}\n", "Invalid runtime chunk data",
	    "data that is no text");
	breaks(START(4) DATA("abcde", 0), "Runtime chunked message exceeds declared size", "more than declared");
	breaks(START(4) DATA("abc", 0) END, "Incomplete runtime chunked message", "less than declared");
}

TEST(counts)
{
	struct buf  b = { 0 };
	struct seen s;

	buf_printf(&b, START(2) DATA("{}", 0));
	for (int i = 0; i < STDIO_CHUNK_LINES - 2; i++)
		buf_append(&b, i % 2 ? "\n" : "junk\n", i % 2 ? 1 : 5);
	size_t before = b.len;
	buf_printf(&b, END);
	s = read_all(b.data, b.len, 4096);
	ok(!s.broken && s.n == 1, "4096 lines behind a chunk_start are allowed, junk and the end counted");
	buf_clear(&s.all);
	b.len = before;
	buf_printf(&b, "\n" END);
	s = read_all(b.data, b.len, 4096);
	ok(s.broken && strcmp(s.e.text, "Runtime message has too many stdio fragments") == 0, "one more is fatal");
	buf_clear(&s.all);
	buf_clear(&b);
}

TEST(line_limit)
{
	char       *line = malloc(STDIO_LINE + 2);
	struct seen s;

	memset(line, ' ', STDIO_LINE + 2);
	line[0] = '{';
	line[STDIO_LINE - 2] = '}';
	line[STDIO_LINE - 1] = '\n';
	s = read_all(line, STDIO_LINE, 5000);
	ok(!s.broken && s.n == 1, "a line of 65536 bytes with its newline is taken");
	buf_clear(&s.all);
	line[STDIO_LINE - 1] = ' ';
	line[STDIO_LINE] = '\n';
	s = read_all(line, STDIO_LINE + 1, 5000);
	ok(s.broken && s.n == 0, "one of 65537 is fatal");
	buf_clear(&s.all);
	s = read_all(line, STDIO_LINE, 5000);
	ok(s.broken, "also before its newline is seen");
	buf_clear(&s.all);
	free(line);
}

/* ---- out ---- */

/* Put and read again: the same; every line short enough. */
static void
round_trip(const char *message, size_t n, const char *what)
{
	struct buf  lines = { 0 };
	size_t      longest = 0, count = 0;
	struct seen s;

	stdio_put(&lines, message, n);
	for (const char *p = lines.data, *end = p + lines.len, *next; p < end; p = next, count++) {
		next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
		if ((size_t)(next - p) > longest)
			longest = (size_t)(next - p);
	}
	s = read_all(lines.data, lines.len, 10000);
	ok(!s.broken && s.n == 1 && s.all.len == n + 2 && memcmp(s.all.data, message, n) == 0,
	    "%s comes back as it was", what);
	ok(longest < STDIO_LINE && count <= STDIO_CHUNK_LINES, "in lines under 64 KiB (%zu, %zu of them)", longest,
	    count);
	buf_clear(&s.all);
	buf_clear(&lines);
}

TEST(put)
{
	struct buf b = { 0 };

	stdio_put(&b, "{\"a\": 1}", 8);
	ok(b.len == 9 && memcmp(b.data, "{\"a\": 1}\n", 9) == 0, "a short message is a line");
	buf_clear(&b);
	stdio_put(&b, "{\n\"a\":\r\n1}", 10);
	ok(b.len == 11 && memchr(b.data, '\n', 10) == NULL, "and one line whatever it has between its words");
	buf_clear(&b);

	char *m = malloc(LIM_WS_MESSAGE);
	memset(m, 'x', STDIO_CHUNK + 1);
	m[0] = '{';
	m[STDIO_CHUNK - 1] = '}';
	stdio_put(&b, m, STDIO_CHUNK);
	ok(b.len == STDIO_CHUNK + 1, "16384 bytes are still one line");
	buf_clear(&b);
	m[STDIO_CHUNK] = '}';
	stdio_put(&b, m, STDIO_CHUNK + 1);
	ok(memcmp(b.data, START(16385), strlen(START(16385))) == 0, "one more is chunks, and their size comes first");
	ok(strstr((buf_append(&b, "", 1), b.data), "\"data\": \"}\", \"offset\": 16384}\n" END) != NULL,
	    "the rest is at its offset");
	buf_clear(&b);

	memset(m, '"', LIM_WS_MESSAGE);
	round_trip(m, LIM_WS_MESSAGE, "16 MiB of quotes");
	memset(m, 1, 100000);
	round_trip(m, 100000, "control characters");
	for (size_t i = 0; i + 3 <= 99999; i += 3)
		memcpy(m + i, "\xe2\x82\xac", 3);
	round_trip(m, 99999, "characters of three bytes");
	for (size_t i = 0; i + 4 <= 100000; i += 4)
		memcpy(m + i, i % 8 ? "\xf0\x9f\x98\x80" : "a\\\n\"", 4);
	round_trip(m, 100000, "a mixture");
	free(m);
}
