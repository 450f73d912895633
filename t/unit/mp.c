/*
 * The scanner finds the end of any MessagePack value in any pieces, and what it
 * calls whole msgpack-c takes whole: it stands between strangers and msgpack-c.
 */
#include "check.h"
#include "tap.h"
#include "wire/mp.h"

enum { ROOM = 4096 };

static enum mp_verdict
scan_at_once(const void *p, size_t n, size_t most, size_t *len)
{
	struct mp_scan s = { 0 };
	/* exactly n bytes on the heap: a look behind them is seen by the sanitizer */
	void           *copy = memcpy(malloc(n ? n : 1), p, n);
	enum mp_verdict v = mp_scan(&s, copy, n, most);

	*len = s.pos;
	free(copy);
	return v;
}

/* A byte more each call; the first verdict that is not MP_MORE. */
static enum mp_verdict
scan_bytewise(const char *p, size_t n, size_t most, size_t *len)
{
	struct mp_scan  s = { 0 };
	enum mp_verdict v = MP_MORE;

	for (size_t i = 0; i <= n && v == MP_MORE; i++) {
		char *copy = memcpy(malloc(i ? i : 1), p, i);
		v = mp_scan(&s, copy, i, most);
		free(copy);
	}
	*len = s.pos;
	return v;
}

/* How many bytes msgpack-c takes; 0: it does not take it. */
static size_t
unpack(const char *p, size_t n)
{
	msgpack_unpacked u;
	size_t           off = 0;

	msgpack_unpacked_init(&u);
	msgpack_unpack_return r = msgpack_unpack_next(&u, p, n, &off);
	msgpack_unpacked_destroy(&u);
	return r == MSGPACK_UNPACK_SUCCESS ? off : 0;
}

static size_t
put_length(char *out, unsigned width, unsigned n)
{
	memset(out, 0, width);
	out[width - 1] = (char)n;
	return width;
}

/*
 * A whole value that begins with c, by the specification and not by mp.c: the
 * length fields say `count`, containers hold nils.  Its length, 0 for c1.
 */
static size_t
value_of(unsigned char c, unsigned count, char *out)
{
	static const unsigned char fixed[] = { [0x0a] = 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17 };
	size_t                     n = 1;

	memset(out, 0xc0, ROOM);
	out[0] = (char)c;
	if (c <= 0x7f || c >= 0xe0)
		return 1;
	if (c <= 0x8f)
		return 1 + 2 * (c & 15u);
	if (c <= 0x9f)
		return 1 + (c & 15u);
	if (c <= 0xbf)
		return 1 + (c & 31u);
	if (c == 0xc1)
		return 0;
	if (c <= 0xc3)
		return 1;
	if (c >= 0xca && c <= 0xd8)
		return 1 + fixed[c - 0xc0];
	if (c <= 0xc9) { /* bin 8, 16, 32; ext 8, 16, 32 with a type byte */
		n += put_length(out + 1, 1u << (c - 0xc4) % 3, count);
		return n + count + (c >= 0xc7);
	}
	if (c <= 0xdb)
		return n + put_length(out + 1, 1u << (c - 0xd9), count) + count;
	n += put_length(out + 1, 2u << (c & 1), count);
	return n + count * (c >= 0xde ? 2 : 1);
}

static bool
more_until_whole(const char *p, size_t n)
{
	size_t len;

	for (size_t cut = 0; cut < n; cut++)
		if (scan_at_once(p, cut, ROOM, &len) != MP_MORE)
			return false;
	return true;
}

static void
first_bytes(unsigned count)
{
	char   v[ROOM];
	size_t len, piecemeal;

	for (unsigned c = 0; c <= 0xff; c++) {
		size_t n = value_of((unsigned char)c, count, v);

		if (n == 0) {
			ok(scan_at_once(v, ROOM, ROOM, &len) == MP_BAD, "%02x is refused", c);
			continue;
		}
		bool whole = scan_at_once(v, ROOM, ROOM, &len) == MP_WHOLE && len == n;
		bool pieces = scan_bytewise(v, n, ROOM, &piecemeal) == MP_WHOLE && piecemeal == n;
		ok(whole && pieces && more_until_whole(v, n) && unpack(v, n) == n,
		    "%02x with %u: %zu bytes, at once, bytewise, cut anywhere, and to msgpack-c", c, count, n);
	}
}

TEST(exact_room)
{
	char   v[ROOM];
	size_t len;
	int    wrong = 0;

	for (unsigned c = 0; c <= 0xff; c++) {
		size_t n = value_of((unsigned char)c, 3, v);

		if (n == 0)
			continue;
		wrong += scan_at_once(v, n, n, &len) != MP_WHOLE;
		wrong += scan_at_once(v, n, n - 1, &len) != MP_HUGE;
	}
	cmp_ok(wrong, "==", 0, "a value fits its own length, and is huge for a byte less");
}

TEST(depth)
{
	char           v[1000];
	size_t         len;
	struct mp_scan s = { 0 };

	memset(v, 0x91, sizeof(v));
	v[LIM_DEPTH] = 0x01;
	ok(scan_at_once(v, LIM_DEPTH + 1, ROOM, &len) == MP_WHOLE, "%d arrays deep is taken", LIM_DEPTH);
	cmp_ok(unpack(v, LIM_DEPTH + 1), "==", LIM_DEPTH + 1, "by msgpack-c too");
	v[LIM_DEPTH] = (char)0x90;
	ok(scan_at_once(v, LIM_DEPTH + 1, ROOM, &len) == MP_WHOLE, "an empty array at the bottom nests nothing");
	cmp_ok(unpack(v, LIM_DEPTH + 1), "==", LIM_DEPTH + 1, "msgpack-c has room for it");
	v[LIM_DEPTH] = (char)0x91;
	ok(scan_at_once(v, sizeof(v), ROOM, &len) == MP_BAD, "one deeper is refused");
	ok(scan_bytewise(v, sizeof(v), ROOM, &len) == MP_BAD, "bytewise too");
	memset(v, 0x81, sizeof(v));
	ok(scan_at_once(v, sizeof(v), ROOM, &len) == MP_BAD, "maps as keys of maps as keys are refused");

	memset(v, 0x91, LIM_DEPTH + 1);
	v[LIM_DEPTH + 1] = 0x01;
	mp_scan(&s, v, LIM_DEPTH + 1, ROOM);
	ok(mp_scan(&s, v, LIM_DEPTH + 2, ROOM) == MP_BAD, "asked again with more bytes, it is still refused");
}

TEST(counts)
{
	static const struct {
		const char *bytes;
		size_t      n;
		const char *what;
	} bombs[] = {
		{ "\xdd\xff\xff\xff\xff", 5, "array32 of 4 billion" },
		{ "\xdf\xff\xff\xff\xff", 5, "map32 of 4 billion" },
		{ "\xdb\xff\xff\xff\xff", 5, "str32 of 4 GiB" },
		{ "\xc6\xff\xff\xff\xff", 5, "bin32 of 4 GiB" },
		{ "\xc9\xff\xff\xff\xff", 5, "ext32 of 4 GiB" },
		{ "\xdc\xff\xff", 3, "array16 of 65535 in 4096 bytes" },
		{ "\xde\x08\x00", 3, "map16 of 2048 pairs in 4096 bytes" },
		{ "\x91\xdd\xff\xff\xff\xff", 6, "the array inside another" },
		{ "\x81\xa1k\xdf\xff\xff\xff\xff", 8, "the map as a value" },
	};
	size_t len;

	for (size_t i = 0; i < sizeof(bombs) / sizeof(*bombs); i++) {
		ok(scan_at_once(bombs[i].bytes, bombs[i].n, ROOM, &len) == MP_HUGE, "%s is huge", bombs[i].what);
		ok(scan_bytewise(bombs[i].bytes, bombs[i].n, ROOM, &len) == MP_HUGE, "%s, bytewise", bombs[i].what);
	}
	ok(scan_at_once("", 0, ROOM, &len) == MP_MORE, "no bytes are no value yet");
	ok(scan_at_once("\xc0", 1, 0, &len) == MP_HUGE, "nothing fits no room");
	ok(scan_at_once("\xc0\xc0", 2, ROOM, &len) == MP_WHOLE && len == 1, "what follows a value is left alone");
}

/* A header with so many nils behind it, in a room of LIM_MESSAGE. */
static enum mp_verdict
scan_nils(const char *head, size_t n, size_t nils)
{
	struct buf b = { 0 };
	size_t     len;

	buf_append(&b, head, n);
	must(buf_reserve(&b, nils) != -1, "no memory");
	memset(b.data + b.len, 0xc0, nils);
	enum mp_verdict v = scan_at_once(b.data, n + nils, LIM_MESSAGE, &len);
	buf_clear(&b);
	return v;
}

/* Each value becomes an object of msgpack-c's, many times its size on the wire. */
TEST(values)
{
	size_t len;

	ok(scan_at_once("\xdc\x00\x05", 3, 8, &len) == MP_MORE, "a count that just fits the room may come");
	ok(scan_at_once("\xdc\x00\x05", 3, 7, &len) == MP_HUGE, "one that does not is refused by its header");
	cmp_ok(LIM_VALUES, "==", 1 << 20, "the maximum of values is what the next tests have in hand");
	ok(scan_nils("\xdd\x00\x10\x00\x00", 5, LIM_VALUES) == MP_WHOLE, "as many values as may be");
	ok(scan_nils("\xdd\x00\x10\x00\x01", 5, LIM_VALUES + 1) == MP_HUGE, "one more is refused");
	ok(scan_nils("\x91\xdd\x00\x10\x00\x00", 6, LIM_VALUES) == MP_HUGE, "all arrays count together");
	ok(scan_nils("\xdf\x00\x08\x00\x00", 5, LIM_VALUES) == MP_WHOLE, "a pair is two");
	ok(scan_nils("\xdf\x00\x08\x00\x01", 5, LIM_VALUES + 2) == MP_HUGE, "and a pair more is refused");
}

/* Random bytes that are more often structure than chance would have it. */
static size_t
random_value(unsigned char *p, size_t room)
{
	static const unsigned char heads[] = {
		0x80,
		0x81,
		0x83,
		0x90,
		0x92,
		0x9f,
		0xa0,
		0xa3,
		0xc0,
		0xc1,
		0xc2,
		0xc4,
		0xc5,
		0xc6,
		0xc7,
		0xc8,
		0xc9,
		0xca,
		0xcb,
		0xcc,
		0xcf,
		0xd0,
		0xd3,
		0xd4,
		0xd8,
		0xd9,
		0xda,
		0xdb,
		0xdc,
		0xdd,
		0xde,
		0xdf,
		0xff,
	};
	size_t n = rnd() % room;

	for (size_t i = 0; i < n; i++) {
		unsigned pick = rnd() >> 60;
		p[i] = pick < 6    ? heads[(rnd() >> 20) % sizeof(heads)]
		       : pick < 12 ? (unsigned char)(rnd() >> 62)
				   : (unsigned char)(rnd() >> 40);
	}
	return n;
}

TEST(differential)
{
	char   v[80];
	size_t len, piecemeal;
	int    verdicts[4] = { 0 }, unlike_pieces = 0, unlike_msgpack = 0;

	for (int i = 0; i < 200000; i++) {
		size_t          n = random_value((unsigned char *)v, sizeof(v));
		enum mp_verdict at_once = scan_at_once(v, n, ROOM, &len);

		verdicts[at_once]++;
		unlike_pieces += scan_bytewise(v, n, ROOM, &piecemeal) != at_once;
		unlike_pieces += at_once == MP_WHOLE && piecemeal != len;
		if (at_once == MP_WHOLE)
			unlike_msgpack += unpack(v, n) != len || unpack(v, len) != len;
		else if (at_once == MP_MORE)
			unlike_msgpack += unpack(v, n) != 0;
	}
	note("whole %d, more %d, bad %d, huge %d", verdicts[MP_WHOLE], verdicts[MP_MORE], verdicts[MP_BAD],
	    verdicts[MP_HUGE]);
	ok(verdicts[MP_WHOLE] > 1000 && verdicts[MP_MORE] > 1000 && verdicts[MP_BAD] > 1000 && verdicts[MP_HUGE] > 1000,
	    "the random values reach every verdict");
	cmp_ok(unlike_pieces, "==", 0, "bytewise and at once agree on 200000 random values");
	cmp_ok(unlike_msgpack, "==", 0, "and msgpack-c with what is whole and what is not");
}

TEST(writer)
{
	struct buf     b = { 0 };
	msgpack_packer pk;

	mp_writer(&pk, &b);
	msgpack_pack_array(&pk, 2);
	mp_cstr(&pk, "");
	mp_cstr(&pk, "abc");
	cmp_ok(b.len, "==", 6, "the packer writes into a buffer");
	cmp_mem(b.data,
	    "\x92\xa0\xa3"
	    "abc",
	    6, "what MessagePack says");
	buf_clear(&b);
}

int
main(void)
{
	first_bytes(0);
	first_bytes(3);
	first_bytes(200);
	run_tests();
	done_testing();
}
