/*
 * The client's side of a WebSocket, on boxd's own socket or over TCP.  Whole text messages both ways; never blocks
 * once it is open.
 */
#pragma once

#include <wslay/wslay.h>

#include "base/buf.h"
#include "base/err.h"

struct ws_client {
	int                     fd;  /* owned */
	wslay_event_context_ptr ctx; /* owned */
	struct buf              in;  /* owned; received, and not yet read by wslay from in_at on */
	struct buf              out; /* owned; written by wslay, and not yet sent from out_at on */
	size_t                  in_at, out_at;
	void (*on_text)(void *, const char *, size_t n);
	void    *arg;
	bool     paused; /* nothing is read */
	bool     closed; /* the other side said goodbye, or is gone */
	unsigned code;   /* with this code; 0: without a word */
	char     reason[128];
};

struct ws_where {
	const char *socket;  /* path; or */
	const char *url;     /* ws://host[:port] */
	const char *path;    /* GET it */
	const char *headers; /* each with \r\n */
};

/* Connect and shake hands; -1: the text says what boxd answered. */
int  ws_client_open(struct ws_client *, const struct ws_where *, struct err *);
void ws_client_close(struct ws_client *);

int ws_client_send(struct ws_client *, const char *, size_t n, struct err *);

/* Bytes that wait to be sent. */
size_t ws_client_queued(const struct ws_client *);

/* Bytes have been received that ws_client_run would read now: poll need not wait. */
bool ws_client_has_input(const struct ws_client *);

/* What to poll for, and what to call then; messages come by on_text. */
short ws_client_events(const struct ws_client *);
int   ws_client_run(struct ws_client *, short revents, struct err *);

/* Say goodbye; it is closed when the other side has too. */
void ws_client_finish(struct ws_client *, unsigned code);
