/*
 * Files that a client sends in chunks before the action that wants them: kept in memfds, seen by no other
 * connection, gone with theirs.
 */
#pragma once

#include <msgpack.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"

struct upload;

struct uploads {
	TAILQ_HEAD(, upload) all; /* owned */
	size_t   n;
	size_t  *total; /* borrowed: bytes of all connections */
	uint64_t most;  /* bytes of one file */
};

void uploads_init(struct uploads *, size_t *total, uint64_t most);
void uploads_clear(struct uploads *);

/* One __file_chunk; -1, and class and text of the refusal. */
int uploads_chunk(struct uploads *, const msgpack_object *data, const char **class, struct buf *why);

/*
 * Take a whole file out: its sealed memfd is the caller's, who closes it when it has been sent.  -1 and the text of
 * the refusal, without a class.
 */
int uploads_take(struct uploads *, const char *key, size_t n, uint64_t *size, struct buf *why);
