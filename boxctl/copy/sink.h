/*
 * Where one stream of a command goes: our own standard output or error.  Bytes wait
 * here until the other side takes them; writing never blocks us, so that signals
 * and the daemon are heard meanwhile.
 */
#pragma once

#include <stdbool.h>

#include "wire/msg.h"

struct sink {
	int         fd; /* borrowed */
	enum stream stream;
	const char *name;
	size_t      chunk;   /* most that one write can take without blocking */
	struct buf  pending; /* owned */
	size_t      at;      /* first pending byte not yet written */
	uint64_t    got;     /* bytes of the stream received */
	uint64_t    acked;   /* bytes the daemon knows we have written */
	int         failed;  /* errno of a write; from then on bytes are dropped */
};

void sink_init(struct sink *, int fd, enum stream, const char *name);
void sink_clear(struct sink *);

/* -1: they are not the bytes that come next. */
int sink_push(struct sink *, uint64_t offset, const struct blob *, struct err *);

bool sink_waits(const struct sink *);

/* Write what can be written now; to be called when poll says so. */
void sink_flush(struct sink *);

/* How many bytes are really written. */
uint64_t sink_written(const struct sink *);
