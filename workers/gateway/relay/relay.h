/*
 * A relay: a WebSocket on one side, the standard input and output of one managed process on the other.
 */
#pragma once

#include "http/ws.h"

struct relay_plan {
	const char *session;    /* as HTTP_AUTH admitted it */
	const char *process;    /* the same */
	bool        lines;      /* subprotocol mcp: one line, one message */
	uint64_t    line_bytes; /* the longest */
};

/* Attaches, and seats itself; frees itself when the ws is gone. */
int relay_open(struct ws *, const struct relay_plan *, struct err *);
