/*
 * What a connection says it is for, in its first bytes: the server name of a TLS ClientHello, or the host of an HTTP
 * request.  The bytes are a sandbox's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/err.h"

enum { HELLO_MOST = 32768 }; /* bytes that are looked at; the longest honest ClientHello is half of that */

enum said {
	SAID_MORE,         /* it cannot be told yet */
	SAID_NAME,         /* it is for that name */
	SAID_NOTHING,      /* it ended without a byte */
	SAID_OTHER,        /* it is neither TLS nor HTTP/1 */
	SAID_NO_NAME,      /* it is TLS or HTTP, and names nobody */
	SAID_UNCLEAR,      /* it is TLS or HTTP, and cannot be understood, or says two things */
	SAID_LONG,         /* longer than HELLO_MOST */
	SAID_LATE,         /* it began, and did not finish in time */
	SAID_SERVER_FIRST, /* the server spoke before the client did */
};

/* The head of an HTTP request, and how its body ends. */
struct head {
	size_t   bytes;     /* of the head, with its empty line; 0: it is TLS */
	uint64_t body;      /* bytes, unless it comes in chunks */
	bool     chunked;   /* the body comes in chunks */
	bool     websocket; /* it asks to leave HTTP for that */
};

struct hello;

struct hello *hello_open(struct err *); /* NULL and the reason */
void          hello_close(struct hello **);

/*
 * All bytes from the first on; over: no more will come, and never SAID_MORE is answered.  The name is in lower case
 * and has no dot at its end; head is filled with SAID_NAME.
 */
enum said hello_look(
    struct hello *, const char *bytes, size_t n, bool over, struct head *, char name[LIM_DNS_NAME + 1]);

/* ---- one part of it, in hello_http.c ---- */

/* One request of HTTP/1; fills head with SAID_NAME and SAID_NO_NAME. */
enum said hello_http(const char *bytes, size_t n, struct head *, char name[LIM_DNS_NAME + 1]);

/* As the names of rules are: false when it is none. */
bool hello_name(const char *text, size_t n, char name[LIM_DNS_NAME + 1]);
