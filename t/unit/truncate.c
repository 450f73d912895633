/* Long output is cut to head and tail as LangBot cuts it; bytes become clean text first. */
#include "python/outtext.h"
#include "tap.h"

/* Characters of one to four bytes each: the i-th of a text is the same however it is asked for. */
static const char *const kinds[] = { "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x90\x8d" };

static struct buf
text_of(size_t characters, int kind)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < characters; i++) {
		const char *c = kind < 4 ? kinds[kind] : kinds[(i * 7 + i / 5) % 4];

		buf_append(&b, c, strlen(c));
	}
	return b;
}

static size_t
characters(const char *p, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += ((unsigned char)p[i] & 0xc0) != 0x80;
	return k;
}

/* Bytes of the first k characters. */
static size_t
bytes_of(const struct buf *b, size_t k)
{
	size_t i = 0;

	while (i < b->len && (((unsigned char)b->data[i] & 0xc0) == 0x80 || k-- > 0))
		i++;
	return i;
}

TEST(vectors)
{
	static const struct {
		size_t len, limit, head, omitted, tail;
	} all[] = {
		{ 5000, 4000, 2376, 1039, 1585 },
		{ 4001, 4000, 2377, 38, 1586 },
		{ 10000, 4000, 2376, 6039, 1585 },
		{ 13998, 4000, 2376, 10038, 1584 },
		{ 1048637, 4000, 2374, 1044679, 1584 },
		{ 520, 100, 37, 458, 25 },
		{ 300, 100, 37, 238, 25 },
		{ 200, 50, 7, 188, 5 },
		{ 100, 40, 1, 97, 2 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		for (int kind = 0; kind < 5; kind++) {
			struct buf in = text_of(all[i].len, kind), out = { 0 }, want = { 0 };
			size_t     head = bytes_of(&in, all[i].head), tail = bytes_of(&in, all[i].len - all[i].tail);

			buf_append(&want, in.data, head);
			buf_printf(&want, "\n\n... [%zu characters truncated] ...\n\n", all[i].omitted);
			buf_append(&want, in.data + tail, in.len - tail);
			bool cut = outtext_truncate(&out, in.data, in.len, all[i].limit);
			ok(cut && out.len == want.len && memcmp(out.data, want.data, want.len) == 0,
			    "%zu characters of kind %d in %zu", all[i].len, kind, all[i].limit);
			cmp_ok(characters(out.data, out.len), "==", all[i].limit, "are as many as the limit");
			buf_clear(&in);
			buf_clear(&out);
			buf_clear(&want);
		}
	}
}

TEST(edges)
{
	struct buf in = text_of(100, 0), out = { 0 };

	ok(outtext_truncate(&out, in.data, in.len, 30), "no room for the notice");
	buf_append(&out, "", 1);
	is(out.data, "\n\n... [100 characters truncate", "as much of it as there is");
	buf_clear(&out);
	ok(outtext_truncate(&out, in.data, in.len, 0) && out.len == 0, "limit 0 is nothing at all");
	ok(!outtext_truncate(&out, in.data, in.len, 100) && out.len == 100, "as long as the limit is not cut");
	buf_clear(&out);
	ok(!outtext_truncate(&out, in.data, 0, 0) && out.len == 0, "nothing is not cut");
	buf_clear(&in);
	in = text_of(4000, 3);
	ok(!outtext_truncate(&out, in.data, in.len, 4000) && out.len == 16000, "characters count, not bytes");
	buf_clear(&in);
	buf_clear(&out);
}

/* For every length: within the limit, whole characters, a prefix and a suffix of the text, and an honest number. */
static bool
holds(size_t len, size_t limit, int kind)
{
	struct buf in = text_of(len, kind), out = { 0 };
	bool       cut = outtext_truncate(&out, in.data, in.len, limit);
	bool       good = cut == (len > limit) && characters(out.data, out.len) == (cut ? limit : len);
	unsigned   omitted;
	char      *notice;

	buf_append(&out, "", 1);
	notice = cut && limit > 60 ? strstr(out.data, "\n\n... [") : NULL;
	if (notice != NULL && sscanf(notice, "\n\n... [%u", &omitted) == 1) {
		size_t head = (size_t)(notice - out.data);
		char  *rest = strstr(notice, "] ...\n\n") + strlen("] ...\n\n");
		size_t tail = strlen(rest);

		good &= memcmp(out.data, in.data, head) == 0 && memcmp(rest, in.data + in.len - tail, tail) == 0;
		size_t shown = characters(out.data, head) + characters(rest, tail);
		/* LangBot's four rounds may stop while the notice's own length still moves it by one */
		good &= omitted + shown <= len + 1 && omitted + shown + 1 >= len;
	} else {
		good &= !cut || limit <= 60;
	}
	buf_clear(&in);
	buf_clear(&out);
	return good;
}

TEST(properties)
{
	static const size_t limits[] = { 1, 37, 38, 39, 40, 41, 60, 61, 100, 101, 999, 4000 };

	for (size_t l = 0; l < sizeof(limits) / sizeof(*limits); l++)
		for (int kind = 0; kind < 5; kind++) {
			bool good = true;

			for (size_t len = 0; good && len < 1300; len += len < 150 ? 1 : 7)
				good = holds(len, limits[l], kind);
			for (size_t len = limits[l]; good && len < limits[l] + 130; len++)
				good = holds(len, limits[l], kind);
			ok(good, "every length, characters of kind %d, limit %zu", kind, limits[l]);
		}
}

TEST(cleans)
{
	static const struct {
		const char *in;
		size_t      n;
		uint64_t    total;
		const char *want, *name;
	} all[] = {
		{ "\xff\xfe"
		  "ab\n\n",
		    6, 6,
		    "\xef\xbf\xbd\xef\xbf\xbd"
		    "ab",
		    "what is no UTF-8 is marked" },
		{ " \t\r\n\v\f a b \x1c\x1d\x1e\x1f", 15, 15, "a b", "blanks go, inner ones stay" },
		{ "\xc2\xa0\xe3\x80\x80x\xe2\x80\xa9\xc2\x85", 11, 11, "x", "so do those of Unicode" },
		{ "\xe2\x80\x8bx", 4, 4, "\xe2\x80\x8bx", "but not what only looks like one" },
		{ " \n ", 3, 3, "", "nothing but blanks" },
		{ "abcd", 4, 8, "abcd\n... [raw output clipped at 4 bytes, 4 bytes discarded]", "more was written" },
		{ "abc ", 4, 5, "abc\n... [raw output clipped at 4 bytes, 1 bytes discarded]",
		    "the notice comes last" },
		{ "", 0, 0, "", "nothing" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct buf out = { 0 };

		buf_append(&out, "before ", 7);
		outtext_clean(&out, all[i].in, all[i].n, all[i].total);
		buf_append(&out, "", 1);
		is(out.data + 7, all[i].want, "%s", all[i].name);
		buf_clear(&out);
	}
}

TEST(clips_as_the_reference)
{
	struct buf in = text_of(1048576, 0), out = { 0 };

	outtext_clean(&out, in.data, in.len, 1048580);
	cmp_ok(out.len, "==", 1048637, "the reference's vector has its length");
	buf_append(&out, "", 1);
	is(out.data + 1048576, "\n... [raw output clipped at 1048576 bytes, 4 bytes discarded]", "and its notice");
	buf_clear(&in);
	buf_clear(&out);
}
