#include "zip/zipdir.h"

#include <stdlib.h>
#include <string.h>

enum {
	END_SIG = 0x06054b50,
	END_SIZE = 22,
	END64_SIG = 0x06064b50,
	END64_SIZE = 56,
	LOCATOR_SIG = 0x07064b50,
	LOCATOR_SIZE = 20,
	CENTRAL_SIG = 0x02014b50,
	CENTRAL_SIZE = 46,
	LOCAL_SIG = 0x04034b50,
	LOCAL_SIZE = 30,
	COMMENT_MAX = 65535,
	EXTRA_ZIP64 = 1,
	FLAG_ENCRYPTED = 1 << 0,
	FLAG_SIZES_BEHIND = 1 << 3, /* the local header has none */
	FLAG_STRONG = 1 << 6,
	FLAG_UTF8 = 1 << 11,
};

struct zip {
	struct span     bytes;
	uint64_t        entries; /* as the end record says */
	uint64_t        at, end; /* of the central directory */
	struct zip_dir *dir;
};

static int
broken(struct err *e)
{
	return err_set(e, E_INVALID, "Uploaded file must be a valid .zip archive");
}

/* ---- numbers ----------------------------------------------------------------------------- */

static uint64_t
number(const char *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = bytes; i > 0; i--)
		v = v << 8 | (unsigned char)p[i - 1];
	return v;
}

static uint32_t
u16(const char *p)
{
	return (uint32_t)number(p, 2);
}

static uint32_t
u32(const char *p)
{
	return (uint32_t)number(p, 4);
}

static uint64_t
u64(const char *p)
{
	return number(p, 8);
}

/* n bytes at this offset, or NULL when the archive has not as many. */
static const char *
bytes_at(const struct zip *z, uint64_t offset, uint64_t n)
{
	if (offset > z->bytes.n || n > z->bytes.n - offset)
		return NULL;
	return z->bytes.p + offset;
}

/* ---- the end ----------------------------------------------------------------------------- */

/*
 * The last of its signatures, with a comment that reaches to the end: whoever else reads the archive finds no
 * other one.
 */
static const char *
find_end(const struct zip *z)
{
	if (z->bytes.n < END_SIZE)
		return NULL;
	size_t at = z->bytes.n - END_SIZE, least = at > COMMENT_MAX ? at - COMMENT_MAX : 0;
	for (;; at--) {
		const char *p = z->bytes.p + at;

		if (u32(p) == END_SIG)
			return at + END_SIZE + u16(p + 20) == z->bytes.n ? p : NULL;
		if (at == least)
			return NULL;
	}
}

/* Numbers that did not fit into the old record; the new one is right in front of it. */
static int
read_end64(struct zip *z, uint64_t end, uint64_t *size, uint64_t *end_of_dir)
{
	const char *l = end < LOCATOR_SIZE ? NULL : bytes_at(z, end - LOCATOR_SIZE, LOCATOR_SIZE);

	if (l == NULL || u32(l) != LOCATOR_SIG)
		return 0;
	uint64_t    at = u64(l + 8);
	const char *p = bytes_at(z, at, END64_SIZE);
	if (p == NULL || u32(p) != END64_SIG || u32(l + 4) != 0 || u32(l + 16) > 1)
		return -1;
	if (u64(p + 4) != end - LOCATOR_SIZE - at - 12 || u32(p + 16) != 0 || u32(p + 20) != 0 ||
	    u64(p + 24) != u64(p + 32))
		return -1;
	z->entries = u64(p + 32);
	*size = u64(p + 40);
	z->at = u64(p + 48);
	*end_of_dir = at;
	return 0;
}

static int
read_end(struct zip *z)
{
	const char *p = find_end(z);

	if (p == NULL || u16(p + 4) != 0 || u16(p + 6) != 0 || u16(p + 8) != u16(p + 10))
		return -1;
	uint64_t end = (uint64_t)(p - z->bytes.p), size = u32(p + 12);
	z->entries = u16(p + 10);
	z->at = u32(p + 16);
	z->end = end;
	if (read_end64(z, end, &size, &z->end) == -1)
		return -1;
	/* it reaches to the end record: nothing is in front of the archive, and nothing between */
	return z->at <= z->end && z->end - z->at == size ? 0 : -1;
}

/* ---- entries ----------------------------------------------------------------------------- */

/* What the bytes from 128 on mean where a name is not told to be UTF-8. */
static const uint16_t cp437[128] = {
	0x00c7,
	0x00fc,
	0x00e9,
	0x00e2,
	0x00e4,
	0x00e0,
	0x00e5,
	0x00e7,
	0x00ea,
	0x00eb,
	0x00e8,
	0x00ef,
	0x00ee,
	0x00ec,
	0x00c4,
	0x00c5,
	0x00c9,
	0x00e6,
	0x00c6,
	0x00f4,
	0x00f6,
	0x00f2,
	0x00fb,
	0x00f9,
	0x00ff,
	0x00d6,
	0x00dc,
	0x00a2,
	0x00a3,
	0x00a5,
	0x20a7,
	0x0192,
	0x00e1,
	0x00ed,
	0x00f3,
	0x00fa,
	0x00f1,
	0x00d1,
	0x00aa,
	0x00ba,
	0x00bf,
	0x2310,
	0x00ac,
	0x00bd,
	0x00bc,
	0x00a1,
	0x00ab,
	0x00bb,
	0x2591,
	0x2592,
	0x2593,
	0x2502,
	0x2524,
	0x2561,
	0x2562,
	0x2556,
	0x2555,
	0x2563,
	0x2551,
	0x2557,
	0x255d,
	0x255c,
	0x255b,
	0x2510,
	0x2514,
	0x2534,
	0x252c,
	0x251c,
	0x2500,
	0x253c,
	0x255e,
	0x255f,
	0x255a,
	0x2554,
	0x2569,
	0x2566,
	0x2560,
	0x2550,
	0x256c,
	0x2567,
	0x2568,
	0x2564,
	0x2565,
	0x2559,
	0x2558,
	0x2552,
	0x2553,
	0x256b,
	0x256a,
	0x2518,
	0x250c,
	0x2588,
	0x2584,
	0x258c,
	0x2590,
	0x2580,
	0x03b1,
	0x00df,
	0x0393,
	0x03c0,
	0x03a3,
	0x03c3,
	0x00b5,
	0x03c4,
	0x03a6,
	0x0398,
	0x03a9,
	0x03b4,
	0x221e,
	0x03c6,
	0x03b5,
	0x2229,
	0x2261,
	0x00b1,
	0x2265,
	0x2264,
	0x2320,
	0x2321,
	0x00f7,
	0x2248,
	0x00b0,
	0x2219,
	0x00b7,
	0x221a,
	0x207f,
	0x00b2,
	0x25a0,
	0x00a0,
};

static int
take_name(struct zip_entry *en, struct span raw, bool utf8)
{
	struct buf out = { 0 };

	if (utf8 && !text_is_valid(raw))
		return -1;
	for (size_t i = 0; i < raw.n; i++) {
		unsigned char c = (unsigned char)raw.p[i];

		if (utf8 || c < 128)
			buf_append(&out, raw.p + i, 1);
		else
			text_put(&out, cp437[c - 128]);
	}
	buf_append(&out, "", 1);
	if (out.failed) {
		buf_clear(&out);
		return -1;
	}
	en->name = (struct span){ out.data, out.len - 1 };
	return 0;
}

/* The fields that are all ones are here, in this order, as 64 bits. */
static int
read_extra64(struct span extra, uint64_t **wanted, size_t n)
{
	for (size_t at = 0; n > 0 && at + 4 <= extra.n;) {
		size_t len = u16(extra.p + at + 2);

		if (len > extra.n - at - 4)
			return -1;
		if (u16(extra.p + at) == EXTRA_ZIP64) {
			if (len < n * 8)
				return -1;
			for (size_t i = 0; i < n; i++)
				*wanted[i] = u64(extra.p + at + 4 + i * 8);
			return 0;
		}
		at += 4 + len;
	}
	return n == 0 ? 0 : -1;
}

static int
read_sizes(struct zip_entry *en, const char *p, struct span extra)
{
	uint64_t *wide[3];
	size_t    n = 0;

	en->packed = u32(p + 20);
	en->size = u32(p + 24);
	en->offset = u32(p + 42);
	if (en->size == UINT32_MAX)
		wide[n++] = &en->size;
	if (en->packed == UINT32_MAX)
		wide[n++] = &en->packed;
	if (en->offset == UINT32_MAX)
		wide[n++] = &en->offset;
	return read_extra64(extra, wide, n);
}

/* Sizes of a local header, where it has them, are those of the directory; all ones mean: see there. */
static bool
sizes_agree(const char *l, const struct zip_entry *en)
{
	if (u16(l + 6) & FLAG_SIZES_BEHIND)
		return true;
	return (u32(l + 18) == en->packed || u32(l + 18) == UINT32_MAX) &&
	       (u32(l + 22) == en->size || u32(l + 22) == UINT32_MAX);
}

/* The local header says the same, and the packed bytes are in front of the directory. */
static int
check_local(const struct zip *z, struct zip_entry *en, const char *p, struct span raw)
{
	const char *l = bytes_at(z, en->offset, LOCAL_SIZE);

	if (l == NULL || u32(l) != LOCAL_SIG || u16(l + 8) != en->method ||
	    ((u16(l + 6) ^ u16(p + 8)) & (FLAG_ENCRYPTED | FLAG_STRONG)) != 0 || u16(l + 26) != raw.n ||
	    !sizes_agree(l, en))
		return -1;
	uint64_t data = en->offset + LOCAL_SIZE + raw.n + u16(l + 28);
	if (bytes_at(z, en->offset, data - en->offset) == NULL || memcmp(l + LOCAL_SIZE, raw.p, raw.n) != 0)
		return -1;
	if (data > z->at || en->packed > z->at - data)
		return -1;
	en->end = data + en->packed;
	return 0;
}

/* The entry at *at, which moves behind it. */
static int
read_entry(const struct zip *z, uint64_t *at, struct zip_entry *en)
{
	const char *p = *at + CENTRAL_SIZE > z->end ? NULL : bytes_at(z, *at, CENTRAL_SIZE);

	*en = (struct zip_entry){ 0 };
	if (p == NULL || u32(p) != CENTRAL_SIG)
		return -1;
	struct span raw = { p + CENTRAL_SIZE, u16(p + 28) }, extra = { raw.p + raw.n, u16(p + 30) };
	uint64_t    whole = CENTRAL_SIZE + raw.n + extra.n + u16(p + 32);
	if (whole > z->end - *at || u16(p + 34) != 0)
		return -1;
	*at += whole;
	en->method = (uint16_t)u16(p + 10);
	en->encrypted = (u16(p + 8) & (FLAG_ENCRYPTED | FLAG_STRONG)) != 0;
	en->mode = u32(p + 38) >> 16;
	if (read_sizes(en, p, extra) == -1 || check_local(z, en, p, raw) == -1)
		return -1;
	return take_name(en, raw, (u16(p + 8) & FLAG_UTF8) != 0);
}

static int
read_entries(struct zip *z)
{
	struct zip_entry en;
	uint64_t         at = z->at, n = 0;

	for (; at < z->end; n++) {
		if (read_entry(z, &at, &en) == -1)
			return -1;
		if (z->dir->n <= LIM_ZIP_ENTRIES)
			z->dir->v[z->dir->n++] = en;
		else
			free((char *)(uintptr_t)en.name.p);
	}
	return n == z->entries ? 0 : -1;
}

/* ---- the whole --------------------------------------------------------------------------- */

struct range {
	uint64_t offset, end;
};

static int
by_offset(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool
overlap(const struct zip_dir *d)
{
	struct range order[LIM_ZIP_ENTRIES + 1];
	bool         any = false;

	for (size_t i = 0; i < d->n; i++)
		order[i] = (struct range){ d->v[i].offset, d->v[i].end };
	qsort(order, d->n, sizeof(*order), by_offset);
	for (size_t i = 1; i < d->n; i++)
		any |= order[i].offset < order[i - 1].end;
	return any;
}

int
zipdir_read(struct zip_dir *d, struct span archive, struct err *e)
{
	struct zip z = { .bytes = archive, .dir = d };

	*d = (struct zip_dir){ .v = calloc(LIM_ZIP_ENTRIES + 1, sizeof(*d->v)) };
	if (d->v == NULL)
		return err_set(e, E_SYS, "no memory");
	if (read_end(&z) == 0 && read_entries(&z) == 0 && !overlap(d))
		return 0;
	zipdir_clear(d);
	return broken(e);
}

void
zipdir_clear(struct zip_dir *d)
{
	for (size_t i = 0; i < d->n; i++)
		free((char *)(uintptr_t)d->v[i].name.p);
	free(d->v);
	*d = (struct zip_dir){ 0 };
}
