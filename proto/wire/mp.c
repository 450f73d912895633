#include "wire/mp.h"

#include <string.h>

/* What a first byte promises: bytes of length field, bytes of body, values inside. */
struct head {
	bool     bad;
	unsigned len_bytes; /* width of the length field behind the first byte */
	uint64_t extra;     /* fixed body bytes (after a length field: ext's type byte) */
	uint64_t values;    /* a fix-container's elements */
	unsigned per_value; /* a length field counts: 0 bytes, 1 values, 2 pairs */
};

static struct head
head_of(unsigned char c)
{
	/* clang-format off */
	static const struct head table[] = {
		[0x00] = { 0 },                                   /* c0 nil */
		[0x01] = { .bad = true },                         /* c1 never used */
		[0x02] = { 0 },           [0x03] = { 0 },         /* false, true */
		[0x04] = { .len_bytes = 1 }, [0x05] = { .len_bytes = 2 }, [0x06] = { .len_bytes = 4 },  /* bin */
		[0x07] = { .len_bytes = 1, .extra = 1 },          /* ext */
		[0x08] = { .len_bytes = 2, .extra = 1 },
		[0x09] = { .len_bytes = 4, .extra = 1 },
		[0x0a] = { .extra = 4 },  [0x0b] = { .extra = 8 },  /* float, double */
		[0x0c] = { .extra = 1 },  [0x0d] = { .extra = 2 },  [0x0e] = { .extra = 4 }, [0x0f] = { .extra = 8 },
		[0x10] = { .extra = 1 },  [0x11] = { .extra = 2 },  [0x12] = { .extra = 4 }, [0x13] = { .extra = 8 },
		[0x14] = { .extra = 2 },  [0x15] = { .extra = 3 },  [0x16] = { .extra = 5 }, /* fixext */
		[0x17] = { .extra = 9 },  [0x18] = { .extra = 17 },
		[0x19] = { .len_bytes = 1 }, [0x1a] = { .len_bytes = 2 }, [0x1b] = { .len_bytes = 4 },  /* str */
		[0x1c] = { .len_bytes = 2, .per_value = 1 }, [0x1d] = { .len_bytes = 4, .per_value = 1 },
		[0x1e] = { .len_bytes = 2, .per_value = 2 }, [0x1f] = { .len_bytes = 4, .per_value = 2 },
	};
	/* clang-format on */

	if (c <= 0x7f || c >= 0xe0)
		return (struct head){ 0 };
	if (c <= 0x8f)
		return (struct head){ .values = 2ULL * (c & 0x0f) };
	if (c <= 0x9f)
		return (struct head){ .values = c & 0x0f };
	if (c <= 0xbf)
		return (struct head){ .extra = c & 0x1f };
	return table[c - 0xc0];
}

static uint64_t
big_endian(const unsigned char *p, unsigned n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

/* A value is complete: it may complete the containers around it. */
static bool
value_done(struct mp_scan *s)
{
	while (s->depth > 0) {
		if (--s->left[s->depth - 1] > 0)
			return false;
		s->depth--;
	}
	return true;
}

enum mp_verdict
mp_scan(struct mp_scan *s, const void *bytes, size_t n, size_t most)
{
	const unsigned char *p = bytes;

	for (;;) {
		if (s->pos >= most)
			return MP_HUGE;
		if (s->pos >= n)
			return MP_MORE;
		struct head h = head_of(p[s->pos]);
		if (h.bad)
			return MP_BAD;
		if (h.len_bytes > n - s->pos - 1)
			return MP_MORE;
		uint64_t len = big_endian(p + s->pos + 1, h.len_bytes);
		uint64_t values = h.values + len * h.per_value;
		uint64_t size = 1 + h.len_bytes + h.extra + (h.per_value ? 0 : len);

		/* every value inside needs a byte at least: a count can not outgrow the message */
		if (size > most - s->pos || values > most - s->pos - size)
			return MP_HUGE;
		if (values > LIM_VALUES - s->values)
			return MP_HUGE;
		if (size > n - s->pos)
			return MP_MORE;
		/* before anything moves: asked again, the answer must be the same */
		if (values > 0 && s->depth == LIM_DEPTH)
			return MP_BAD;
		s->pos += size;
		s->values += values;
		if (values > 0)
			s->left[s->depth++] = values;
		else if (value_done(s))
			return MP_WHOLE;
	}
}

static int
append(void *arg, const char *p, size_t n)
{
	buf_append(arg, p, n);
	return 0;
}

void
mp_writer(msgpack_packer *pk, struct buf *b)
{
	msgpack_packer_init(pk, b, append);
}

void
mp_cstr(msgpack_packer *pk, const char *s)
{
	size_t n = strlen(s);

	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, s, n);
}
