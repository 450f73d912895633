/*
 * Which messages the client's socket has taken.  The ws tells how many bytes it has not; each message is at least as
 * long there as its text, so a message behind which more text was handed over than is queued has left.  That errs on the
 * safe side: pongs and frame headers that are queued too only delay the answer.
 */
#ifndef GATEWAY_TAKEN_H
#define GATEWAY_TAKEN_H

#include <stddef.h>
#include <stdint.h>

enum { TAKEN_MARKS = 128 };

struct taken {
	struct {
		uint64_t handed; /* bytes of all texts up to the end of this message */
		uint64_t to;     /* what the message stands for: output up to this offset */
	} marks[TAKEN_MARKS];
	size_t   first, n;
	uint64_t handed;
	uint64_t to; /* everything up to this offset has left */
};

/* A message was handed over.  With no room for one more mark it counts with the one before: both have left, or neither. */
void taken_add(struct taken *, size_t bytes, uint64_t to);

/* So many bytes are queued now; .to is true again after this. */
void taken_update(struct taken *, size_t queued);

#endif
