/*
 * The output of a process cut into messages: one line each, or pieces that end with whole characters.  Always valid
 * UTF-8.
 *
 * Lines: an empty one, or one of blanks alone, is no message: to a reader of JSON it would be a broken document.  A
 * stream that begins in the middle of a line, because its beginning was let go of or was too long for the reader before,
 * begins for us with the next one.  Its first byte shows that, which is why a relay asks for one byte
 * more than it has not seen: it is a newline, or what comes up to the next newline is the rest of something.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"

struct framer {
	bool       lines;
	size_t     most; /* bytes of one message */
	bool       begun;
	bool       skipping; /* lines: up to the next newline */
	uint64_t   at;       /* offset behind the last byte that was taken in */
	uint64_t   skipped;  /* bytes of lines whose beginning is gone, so far */
	struct buf held;     /* owned; of the message that is not whole yet */
};

enum framed {
	FRAMED_NONE,     /* all bytes are taken in */
	FRAMED_MESSAGE,  /* *out is the next message */
	FRAMED_TOO_LONG, /* a line is longer than most; what has come of it is taken in, and the rest will be skipped */
	FRAMED_NO_MEMORY,
};

void framer_init(struct framer *, bool lines, size_t most);
void framer_clear(struct framer *);

/* Before the first bytes: where they are in the stream. */
void framer_begin(struct framer *, uint64_t offset);

/* Take bytes in, up to the end of a message; *bytes and *n are what is left of them. */
enum framed framer_next(struct framer *, const char **bytes, size_t *n, struct buf *out);

/* Nothing more will come: the last message, if there is one. */
enum framed framer_end(struct framer *, struct buf *out);

/* Everything before this offset is in messages that were given out, or in no message. */
uint64_t framer_whole(const struct framer *);
