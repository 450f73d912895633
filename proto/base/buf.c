#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 512 };

int
buf_reserve(struct buf *b, size_t n)
{
	assert(b->len <= b->cap);
	if (b->failed)
		return -1;
	if (n <= b->cap - b->len)
		return 0;

	if (n > SIZE_MAX / 4 - b->len) { /* or doubling would wrap, and never end */
		b->failed = true;
		return -1;
	}
	size_t cap = b->cap ? b->cap : FIRST_CAP;
	while (cap - b->len < n)
		cap *= 2;
	char *p = realloc(b->data, cap);
	if (p == NULL) {
		b->failed = true;
		return -1;
	}
	b->data = p;
	b->cap = cap;
	assert(n <= b->cap - b->len);
	return 0;
}

void
buf_append(struct buf *b, const void *p, size_t n)
{
	if (n == 0 || buf_reserve(b, n) == -1)
		return;
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0 && buf_reserve(b, (size_t)n + 1) == 0) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
	va_end(ap);
}

void
buf_drop(struct buf *b, size_t n)
{
	if (n >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

void
buf_clear(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}
