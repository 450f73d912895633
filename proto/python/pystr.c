#include "python/pystr.h"

#include "base/utf8.h"

/* ---- kinds of characters ---- */

struct range {
	uint32_t first, last;
};

static const struct range spaces[] = {
	{ 0x09, 0x0d },
	{ 0x20, 0x20 },
	{ 0x85, 0x85 },
	{ 0xa0, 0xa0 },
	{ 0x1680, 0x1680 },
	{ 0x2000, 0x200a },
	{ 0x2028, 0x2029 },
	{ 0x202f, 0x202f },
	{ 0x205f, 0x205f },
	{ 0x3000, 0x3000 },
};

static const struct range alnum[] = {
#define R(first, last) { first, last },
#include "python/alnum.def"
#undef R
};

/* The ranges are in order. */
static bool
in(const struct range *r, size_t n, uint32_t c)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (c > r[mid].last)
			low = mid + 1;
		else if (c < r[mid].first)
			high = mid;
		else
			return true;
	}
	return false;
}

#define IN(table, c) in(table, sizeof(table) / sizeof(*(table)), c)

static bool
rust_is_space(uint32_t c)
{
	return IN(spaces, c);
}

bool
py_is_space(uint32_t c)
{
	return (c >= 0x1c && c <= 0x1f) || IN(spaces, c);
}

bool
py_is_alnum(uint32_t c)
{
	if (c < 0x80)
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
	return IN(alnum, c);
}

/* ---- both ends ---- */

static bool
is_lead(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static const char *
trim(const char *p, size_t *n, bool (*is_space)(uint32_t))
{
	const char *end = p + *n;
	uint32_t    c;

	while (p < end) {
		int len = utf8_next(p, (size_t)(end - p), &c);

		if (len < 0 || !is_space(c))
			break;
		p += len;
	}
	while (p < end) {
		const char *last = end - 1;

		while (last > p && !is_lead(*last))
			last--;
		if (utf8_next(last, (size_t)(end - last), &c) != end - last || !is_space(c))
			break;
		end = last;
	}
	*n = (size_t)(end - p);
	return p;
}

const char *
py_strip(const char *p, size_t *n)
{
	return trim(p, n, py_is_space);
}

bool
py_is_blank(const char *p, size_t n)
{
	py_strip(p, &n);
	return n == 0;
}

const char *
rust_trim(const char *p, size_t *n)
{
	return trim(p, n, rust_is_space);
}

/* ---- characters ---- */

size_t
py_prefix(const char *p, size_t n, size_t characters)
{
	size_t i = 0;

	for (; i < n; i++)
		if (is_lead(p[i]) && characters-- == 0)
			break;
	return i;
}

size_t
py_len(const char *p, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += is_lead(p[i]);
	return count;
}
