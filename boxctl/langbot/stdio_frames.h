/*
 * LangBot's stdio framing: a message is a line, or, when it is long, a row of lines: chunk_start, chunk_data...,
 * chunk_end.  Lines that are no message (logs, blanks) are passed over.  Both directions keep the same rules.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum {
	STDIO_LINE = 64 * 1024,   /* the longest line, with its newline */
	STDIO_CHUNK = 16 * 1024,  /* a longer message goes in chunks of this */
	STDIO_CHUNK_LINES = 4096, /* behind a chunk_start, junk counted */
};

struct stdio_in {
	struct buf line;    /* owned; of the line being read */
	struct buf message; /* owned; of the chunked message being read */
	bool       chunked;
	uint64_t   total; /* bytes it will have */
	unsigned   lines; /* since its chunk_start */
};

enum stdio_got {
	STDIO_MORE,    /* all bytes are taken in */
	STDIO_MESSAGE, /* *out is the next message */
	STDIO_BROKEN,  /* the other side broke a rule, and the text says which: the connection is to be closed */
};

/* Take bytes in, up to the end of a message; *bytes and *n are what is left of them. */
enum stdio_got stdio_take(struct stdio_in *, const char **bytes, size_t *n, struct buf *out, struct err *);

/* Nothing more will come: a last line without a newline is one. */
enum stdio_got stdio_end(struct stdio_in *, struct buf *out, struct err *);

void stdio_clear(struct stdio_in *);

/* Append the lines of a message, which is valid UTF-8. */
void stdio_put(struct buf *, const char *message, size_t n);
