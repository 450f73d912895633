/*
 * Which messages the client's socket has taken.  The ws says how many bytes are not sent; each message is at least as
 * long there as its frame, so a message behind which more was handed over than is queued has left.  That errs on the
 * safe side: pongs that are queued too, and what TLS adds, only delay the answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TAKEN_MARKS = 512, TAKEN_GRAIN = 8192 };

struct sent_marks {
	struct {
		uint64_t begun;  /* bytes of all frames before this message, or these */
		uint64_t handed; /* and up to its end */
		uint64_t to;     /* what it stands for: output up to this offset */
	} marks[TAKEN_MARKS];
	size_t   first, n;
	uint64_t handed;
	uint64_t to; /* everything up to this offset has left */
};

/*
 * A message was handed over.  When many wait, those of a grain count together: all have left, or none.  So marks do not
 * run out before a window does, and what a cut makes come twice is little.
 */
void sent_marks_add(struct sent_marks *, size_t text_bytes, uint64_t to);

/* So many bytes are queued now; .to is true again after this. */
void sent_marks_update(struct sent_marks *, size_t queued);
