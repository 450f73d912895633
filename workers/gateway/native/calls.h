/*
 * The requests of one connection that wait for their reply.  Request ids only
 * grow, so appending keeps the table sorted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/msg.h"

struct calls {
	struct call *v; /* owned; by id */
	size_t       n, cap;
	size_t       pings; /* of n */
};

/* The id must be greater than every one before. */
int calls_add(struct calls *, uint64_t id, enum msg_type, struct err *);

/* Take one out: the type of the request, or MSG_NONE when nobody waits for that id. */
enum msg_type calls_take(struct calls *, uint64_t id);

void calls_clear(struct calls *);
