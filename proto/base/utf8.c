#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/*
 * Bytes of the character at p; or, negative, how many bytes of a broken one go
 * together (as Unicode recommends: as far as it began well).
 */
static int
utf8_length(const unsigned char *p, size_t n)
{
	static const struct {
		unsigned char first, last, least, most; /* lead byte; range of the second */
		int           length;
	} leads[] = {
		{ 0x00, 0x7f, 0x00, 0x00, 1 },
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < sizeof(leads) / sizeof(*leads); i++) {
		if (p[0] < leads[i].first || p[0] > leads[i].last)
			continue;
		for (int k = 1; k < leads[i].length; k++)
			if ((size_t)k >= n || p[k] < (k == 1 ? leads[i].least : 0x80) ||
			    p[k] > (k == 1 ? leads[i].most : 0xbf))
				return -k;
		return leads[i].length;
	}
	return -1;
}

/* How many bytes at p are ASCII for sure: most text is, and a word of it takes one look. */
static size_t
ascii_run(const unsigned char *p, size_t n)
{
	size_t   i = 0;
	uint64_t word;

	for (; n - i >= sizeof(word); i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		if (word & 0x8080808080808080)
			break;
	}
	return i;
}

bool
utf8_append(struct buf *out, const char *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t               good = 0; /* start of the run not yet appended */
	bool                 valid = true;

	if (n == 0) /* and perhaps no pointer */
		return true;
	for (size_t i = ascii_run(p, n); i < n;) {
		int len = p[i] < 0x80 ? 1 : utf8_length(p + i, n - i);

		if (len > 0) {
			i += (size_t)len;
			i += ascii_run(p + i, n - i);
			continue;
		}
		valid = false;
		buf_append(out, bytes + good, i - good);
		buf_append(out, "\xef\xbf\xbd", 3);
		i += (size_t)-len;
		good = i;
	}
	buf_append(out, bytes + good, n - good);
	return valid;
}

bool
utf8_is_valid(const char *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = n > 0 ? ascii_run(p, n) : 0; i < n; i += ascii_run(p + i, n - i)) {
		int len = p[i] < 0x80 ? 1 : utf8_length(p + i, n - i);

		if (len < 0)
			return false;
		i += (size_t)len;
	}
	return true;
}

int
utf8_next(const char *bytes, size_t n, uint32_t *character)
{
	static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const unsigned char       *p = (const unsigned char *)bytes;
	int                        len = utf8_length(p, n);

	if (len < 0) {
		*character = 0xfffd;
		return len;
	}
	*character = p[0] & lead_bits[len];
	for (int i = 1; i < len; i++)
		*character = *character << 6 | (p[i] & 0x3f);
	return len;
}

size_t
utf8_unfinished(const char *bytes, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		const unsigned char *p = (const unsigned char *)bytes + n - back;

		if (*p >= 0x80 && *p < 0xc0)
			continue; /* what it belongs to is before it */
		return *p >= 0xc2 && *p <= 0xf4 && utf8_length(p, back) == -(int)back ? back : 0;
	}
	return 0;
}
