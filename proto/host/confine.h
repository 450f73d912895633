/* Steps by which a worker gives up what it does not need; each worker has its own order of them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* No capability can be had from an executed file any more. */
int confine_bounding_set(struct err *);

/* Groups first: without root they cannot be changed any more. */
int confine_identity(uid_t, gid_t, struct err *);

/* None is left, no way to gain new ones, and nobody of our uid may look into our memory or trace us. */
int confine_capabilities(struct err *);

/* The same, but for this one; -1: none. */
int confine_capabilities_but(int kept, struct err *);

/* A call with one argument that decides: (value & mask) == wanted. */
struct call_if {
	int      nr;
	unsigned arg;
	uint64_t mask, wanted;
};

/* And one of which the first three must all be right. */
struct call_for {
	int      nr;
	uint64_t mask[3], wanted[3];
};

/* Calls that are in neither list fail with EPERM; abort(3) works. */
int confine_calls(const int *allowed, size_t n, const struct call_if *, size_t n_if, struct err *);

/* The same beside the floor: what a loop, memory, open sockets and memfds need. */
int confine_calls_beside_floor(const int *more, size_t n, const struct call_if *, size_t n_if, struct err *);

/* ---- all of it, of a worker that has sockets and no files ---- */

struct confinement {
	const char            *root; /* empty directory to be locked into; used when root */
	uint64_t               uid;  /* to become, and its gid; used when root */
	uint64_t               net;  /* of LL_ALL_NET: what landlock forbids beside all files */
	const int             *calls;
	size_t                 n_calls;
	const struct call_for *calls_for;
	size_t                 n_calls_for;
};

/*
 * All steps or -1; the error names the step.  After -1 the process must end.  The calls are allowed beside the floor.
 */
int confine_all(const struct confinement *, struct err *);

/* ---- calls of one that is started too often to compile a filter each time ---- */

/*
 * The filter that confine_all would load, in a sealed memfd.  Whose it will be is not known yet, so nobody can be
 * signalled: abort(3) ends by its last resort, SIGSEGV.
 */
int confine_program(const char *name, const struct confinement *, struct err *);

/* Load one.  no_new_privs must be set. */
int confine_load(int program, struct err *);
