/* Text is looked at by words where it is ASCII: what is not is found wherever it is in a word. */
#include "base/utf8.h"
#include "tap.h"

enum { MOST = 40 };

/* What becomes of n letters, then these bytes, then more letters. */
static const char *
appended(size_t n, const char *bytes, size_t more, bool *valid)
{
	static struct buf out;
	char              text[2 * MOST + 16];

	memset(text, 'a', n);
	memcpy(text + n, bytes, strlen(bytes));
	memset(text + n + strlen(bytes), 'b', more);
	buf_clear(&out);
	*valid = utf8_append(&out, text, n + strlen(bytes) + more);
	if (*valid != utf8_is_valid(text, n + strlen(bytes) + more))
		fail("both say the same of %zu letters and %s", n, bytes);
	buf_append(&out, "", 1);
	return out.data;
}

static const char *
expected(size_t n, const char *bytes, size_t more)
{
	static char text[2 * MOST + 32];

	memset(text, 'a', n);
	int len = sprintf(text + n, "%s", bytes);
	memset(text + n + len, 'b', more);
	text[n + (size_t)len + more] = '\0';
	return text;
}

TEST(everywhere_in_a_word)
{
	static const struct {
		const char *bytes, *becomes;
		bool        valid;
	} cases[] = {
		{ "", "", true },
		{ "\xc3\xa4", "\xc3\xa4", true },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", true },
		{ "\x80", "\xef\xbf\xbd", false },
		{ "\xff", "\xef\xbf\xbd", false },
		{ "\xe2\x82", "\xef\xbf\xbd", false },
		{ "\xc3\xa4\xff\xc3\xa4", "\xc3\xa4\xef\xbf\xbd\xc3\xa4", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t more = 0; more < MOST; more += 13) {
			size_t wrong = 0;
			bool   valid;

			for (size_t n = 0; n < MOST; n++) {
				const char *got = appended(n, cases[i].bytes, more, &valid);

				wrong += strcmp(got, expected(n, cases[i].becomes, more)) != 0 ||
					 valid != cases[i].valid;
			}
			ok(wrong == 0, "case %zu behind 0 to %d letters, before %zu", i, MOST - 1, more);
		}
}
