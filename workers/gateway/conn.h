/*
 * One client's socket: bytes in become whole frames, queued bytes go out, and
 * silence has its limits.  A conn never looks inside a frame.
 */
#ifndef GATEWAY_CONN_H
#define GATEWAY_CONN_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"

struct conn;

struct conn_ops {
	/* One whole MessagePack value, valid during the call. */
	void (*on_frame)(void *arg, const char *bytes, size_t n);

	/* No further frame can come: the owner says farewell and calls conn_finish. */
	void (*on_broken)(void *arg, const struct err *why);

	/*
	 * It is over.  Called once, by the loop and never from inside another
	 * call on the conn, so nobody loses a conn he holds; the owner closes it.
	 */
	void (*on_gone)(void *arg);
};

/* Why a client is not read for now; any of them is enough. */
enum conn_hold {
	HOLD_OUTPUT = 1 << 0, /* it does not read what it asked for (the conn's own) */
	HOLD_LINK = 1 << 1,   /* the supervisor does not keep up */
	HOLD_PINGS = 1 << 2,  /* it pings faster than it is answered */
};

/* Takes fd when it succeeds; NULL and the reason if not.  The id is for the log. */
struct conn *conn_open(struct ev_loop *, int fd, uint64_t id, const struct conn_ops *, void *arg, struct err *);

/* Queue bytes; the buf is taken, and empty after the call.  What cannot be sent is no error here: on_gone comes. */
void conn_send(struct conn *, struct buf *);

void conn_hold(struct conn *, enum conn_hold);
void conn_release(struct conn *, enum conn_hold);

/* Read no more; on_gone comes when what is queued has been taken.  The reason is logged. */
void conn_finish(struct conn *, const char *reason);

void conn_close(struct conn **);

#endif
