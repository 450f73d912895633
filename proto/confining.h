/* Steps by which a worker gives up what it does not need; each worker has its own order of them. */
#ifndef PROTO_CONFINING_H
#define PROTO_CONFINING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

/* No capability can be had from an executed file any more. */
int confining_bounding_set(struct err *);

/* Groups first: without root they cannot be changed any more. */
int confining_identity(uid_t, gid_t, struct err *);

/* None is left, no way to gain new ones, and nobody of our uid may look into our memory or trace us. */
int confining_capabilities(struct err *);

/* A call with one argument that decides: (value & mask) == wanted. */
struct call_if {
	int      nr;
	unsigned arg;
	uint64_t mask, wanted;
};

/* Calls that are in neither list fail with EPERM; abort(3) works. */
int confining_calls(const int *allowed, size_t n, const struct call_if *, size_t n_if, struct err *);

#endif
