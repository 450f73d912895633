/*
 * A connection to boxd: requests out, replies and notices in, one after the other
 * on a stream.
 */
#pragma once

#include <stdbool.h>
#include <sys/un.h>

#include "interrupt.h"
#include "wire/mp.h"
#include "wire/msg.h"

enum { CLIENT_PATH = sizeof(((struct sockaddr_un *)0)->sun_path) + 1 };

struct client {
	int               fd; /* owned; non-blocking */
	uint64_t          next_id;
	struct buf        in;        /* owned; what was received */
	size_t            at;        /* start of the message not yet taken */
	struct mp_scan    scan;      /* how far it is understood */
	bool              broken;    /* the connection, not the request, has failed */
	struct interrupt *interrupt; /* borrowed; NULL: signals do what they always do */
	unsigned          patience;  /* this many signals end the wait for a reply */
};

/* $BOXD_SOCKET, or where a daemon of root or of this user listens; its text may be in path. */
const char *client_default_path(char path[CLIENT_PATH]);

/* -1: the text names the socket, the reason and the remedy. */
int  client_open(struct client *, const char *path, struct err *);
void client_close(struct client *);

/* *id: of a request, if it is wanted. */
int client_send(struct client *, enum msg_type, const void *body, uint64_t *id, struct err *);

/* Take what the socket has: 0 something or nothing yet, -1 the connection is over. */
int client_fill(struct client *, struct err *);

/*
 * The next message: 0 taken (it lasts until the next client_fill; msg_clear is
 * due), 1 it is not whole yet, -1 the connection is over.
 */
int client_take(struct client *, struct msg *, struct err *);

/*
 * Ask and wait.  0: the typed reply, as from client_take; -1: refused, or the
 * connection is over (then .broken), or .patience is at its end.
 */
int client_call(struct client *, enum msg_type, const void *body, struct msg *, struct err *);
