/*
 * The requests of one connection of HTTP/1 that was allowed for a name, one after the other: a head passes when it is
 * whole and names a host that is allowed, a body passes as it comes, and what is neither does not pass.
 */
#pragma once

#include "flow/hello.h"

enum request_at {
	AT_HEAD,     /* the next byte begins a request */
	AT_SIZE,     /* the next byte begins the size of a chunk */
	AT_END,      /* the next two bytes end a chunk */
	AT_LAST,     /* the next two bytes end the last chunk */
	AT_ANSWER,   /* the server must answer first: it may agree to leave HTTP */
	AT_ANYTHING, /* it did */
};

/* Begins as { .first = true }; owns nothing. */
struct requests {
	uint64_t        pass; /* bytes that pass before at counts */
	enum request_at at;
	bool            first; /* no request was passed yet */
};

/*
 * How many of these bytes may pass now, 0 to n; they follow those that were passed.  *said:
 *	SAID_NAME	they begin with the head of a request for name, which the caller has to judge
 *	SAID_NOTHING	they belong to a request that has begun
 *	SAID_MORE	none: more must come, from the client or, at AT_ANSWER, from the server
 *	others		none: this cannot be understood
 */
size_t requests_look(
    const struct requests *, const char *bytes, size_t n, enum said *said, char name[LIM_DNS_NAME + 1]);

/* Of n bytes that were inspected, this many were passed on. */
void requests_passed(struct requests *, const char *bytes, size_t n, size_t passed);

/* At AT_ANSWER: the server's first bytes; over: no more will come.  false: more are needed. */
bool requests_answered(struct requests *, const char *bytes, size_t n, bool over);
