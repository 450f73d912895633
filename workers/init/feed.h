/*
 * A managed process's standard input: a pipe, and the bytes of one request on their
 * way into it.  A process that does not read holds up nobody but its own writer.
 */
#pragma once

#include "loop.h"
#include "wire/msg.h"

struct feed {
	struct source source; /* our end of the pipe; fd is -1 once it is closed */
	struct loop  *loop;
	void (*moved)(struct feed *); /* a request is settled */
	struct buf  bytes;            /* owned; of the request under way */
	size_t      written;          /* of them */
	bool        eof;              /* close it behind them */
	uint64_t    taken;            /* bytes of all requests */
	uint64_t    request;          /* under way, or settled and not answered; 0: none */
	bool        settled;
	const char *why; /* settled: NULL, or why not all was written; a constant */
};

/* Make the pipe; *theirs is the command's end, owned by the caller. */
int feed_open(struct feed *, struct loop *, int *theirs, struct err *);

/* Take these bytes; the request is settled when they are in the pipe.  One at a time. */
int feed_push(struct feed *, uint64_t request, const struct blob *, bool eof, struct err *);

/* The request under way gets no answer any more; its bytes go on. */
void feed_forget_request(struct feed *);

/* Close the pipe.  A request under way is settled with this reason, a constant. */
void feed_close(struct feed *, const char *why);

void feed_clear(struct feed *);
