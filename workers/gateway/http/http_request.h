/*
 * One HTTP/1.1 request without a body, from its bytes in any pieces.  wire/http1.h walks the grammar; here is what
 * of it is taken.  Nothing is known of sockets, so that it can be fed anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "wire/http1.h"

/* The headers anybody here looks at: H(ENUM, name, may come several times).  All others pass unseen. */
#define HTTP_HEADERS(H)                                \
	H(HOST, "host", false)                         \
	H(ORIGIN, "origin", false)                     \
	H(CONNECTION, "connection", true)              \
	H(UPGRADE, "upgrade", true)                    \
	H(KEY, "sec-websocket-key", false)             \
	H(VERSION, "sec-websocket-version", false)     \
	H(PROTOCOL, "sec-websocket-protocol", true)    \
	H(TOKEN, "x-langbot-box-control-token", false) \
	H(INSTANCE, "x-langbot-instance-id", false)    \
	H(WORKSPACE, "x-langbot-workspace-id", false)  \
	H(GENERATION, "x-langbot-placement-generation", false)

enum http_header {
#define H(E, name, several) HEADER_##E,
	HTTP_HEADERS(H)
#undef H
	    HEADER__COUNT
};

enum { HTTP_NAME = 64 }; /* no header of ours has so long a name */

struct http_request {
	struct http1 head;
	size_t       fed;             /* bytes taken so far */
	char         last;            /* byte that was fed */
	char         name[HTTP_NAME]; /* of the header that is being read */
	size_t       name_len;        /* may be more than fits: then it is none of ours */
	bool         in_value;
	int          header; /* whose value is being read; -1: nobody looks at it */
	struct buf   target; /* a string once done */
	struct {
		bool       given;
		struct buf value; /* a string once done */
	} headers[HEADER__COUNT];
	bool        done;   /* all of it is here, and good */
	unsigned    status; /* not 0: refused, with this */
	const char *why;
};

void http_request_init(struct http_request *);
void http_request_clear(struct http_request *);

/* How many of the bytes belong to it; those behind it are not touched.  Look at done and status then. */
size_t http_request_feed(struct http_request *, const char *, size_t n);

/* The value, without spaces around it; "" when it is absent. */
const char *http_request_header(const struct http_request *, enum http_header);

/* Is this word in the header's list?  In any case of letters, but for protocols, which are what they are. */
bool http_request_lists(const struct http_request *, enum http_header, const char *word);
