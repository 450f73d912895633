/*
 * The head of one HTTP/1 request: the only file that knows which library walks its grammar.  That is llhttp where it is
 * installed (no stable Debian has it yet), else http-parser, which has ended and whose successor llhttp is.
 *
 * box-egress reads the requests of sandboxes with neither (flow/hello_http.c): it must know where the bytes of a head end
 * in any prefix, take methods no library has heard of, and refuse what both let pass, like a line without its CR.
 */
#pragma once

#ifdef HTTP1_LLHTTP
#include <llhttp.h>
typedef llhttp_t http1_library;
#else
#include <http_parser.h>
typedef http_parser http1_library;
#endif
#include <stdbool.h>
#include <stddef.h>

enum http1_part { HTTP1_TARGET, HTTP1_NAME, HTTP1_VALUE };

/* A part comes in pieces, a value also when it is empty.  Not 0: the request is not read on. */
typedef int http1_take(void *arg, enum http1_part, const char *, size_t n);

enum http1_state {
	HTTP1_READING,
	HTTP1_DONE,    /* the empty line was read; what follows is not looked at */
	HTTP1_STOPPED, /* by http1_take */
	HTTP1_VERSION, /* not HTTP/1.0 or HTTP/1.1 */
	HTTP1_BROKEN,  /* why says so */
};

struct http1 {
	http1_take      *take;
	void            *arg;
	enum http1_state state;
	const char      *why;
	bool             is_get, is_head, is_11, has_body; /* once it is done */
	http1_library    library;
};

void http1_init(struct http1 *, http1_take *, void *arg);

/* How many of the bytes were read.  It must not move in memory from the first on. */
size_t http1_feed(struct http1 *, const char *, size_t n);
