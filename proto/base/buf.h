/*
 * A growing byte buffer with a sticky failure: append as often as you like,
 * look at .failed once.  Bytes are taken from the front by buf_drop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char  *data; /* owned */
	size_t len;
	size_t cap;
	bool   failed; /* an allocation failed; the content is incomplete */
};

/* Room for n more bytes; -1 and .failed when there is no memory. */
int  buf_reserve(struct buf *, size_t n);
void buf_append(struct buf *, const void *, size_t n);
void buf_printf(struct buf *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Forget the first n bytes. */
void buf_drop(struct buf *, size_t n);

/* Free the memory; the buffer is empty and usable again. */
void buf_clear(struct buf *);
