#include "python/outtext.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "python/pystr.h"

void
outtext_clean(struct buf *out, const char *bytes, size_t n, uint64_t total)
{
	size_t start = out->len;

	utf8_append(out, bytes, n);
	if (out->failed)
		return;
	size_t left = out->len - start;
	if (left > 0) {
		const char *text = py_strip(out->data + start, &left);

		memmove(out->data + start, text, left);
		out->len = start + left;
	}
	if (total > n)
		buf_printf(out, "\n... [raw output clipped at %zu bytes, %lu bytes discarded]", n, total - n);
}

/*
 * The notice says how much is left out, which depends on how long the notice is: a few rounds settle it, and
 * LangBot makes four.
 */
bool
outtext_truncate(struct buf *out, const char *text, size_t n, size_t limit)
{
	enum { ROUNDS = 4 };
	size_t length = py_len(text, n), head = 0, tail = 0;
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
	buf_append(out, text, py_prefix(text, n, head));
	buf_append(out, notice, (size_t)noted);
	size_t from = py_prefix(text, n, length - tail);
	buf_append(out, text + from, n - from);
	return true;
}
