/*
 * A WebSocket that is none: what a guest sends and asks is written down, and a test answers in the supervisor's
 * place.  Stands in for ws.c.
 */
#pragma once

#include "workers/gateway/http/ws.h"

struct fake_ask {
	enum msg_type type;
	uint64_t      id;
	struct msg    msg; /* the request, as the supervisor would read it */
	struct packet packet;
};

struct ws {
	const struct ws_handler *ops;
	void                    *guest;
	struct buf               sent; /* the last message, with a NUL behind it */
	size_t                   nsent;
	struct fake_ask          asks[2048];
	size_t                   nasks;
	int                      holds;
	unsigned                 finished; /* the close code; 0: not yet */
	bool                     refuse;   /* ws_ask fails */
};

void fakews_text(struct ws *, const char *text);
void fakews_textn(struct ws *, const char *text, size_t n);

/* What was sent since the last look; NULL: nothing. */
const char *fakews_sent(struct ws *);

/* The last request; NULL when none was made since the last look. */
const struct fake_ask *fakews_asked(struct ws *);

/* The answer to a request: of its result type, or an error. */
void fakews_answer(struct ws *, const struct fake_ask *, const void *body);
void fakews_fail(struct ws *, const struct fake_ask *, enum err_code, const char *text);

/* Requests made so far are not looked at any more. */
void fakews_forget(struct ws *);

/* The end: the guest frees itself. */
void fakews_gone(struct ws *);
