/*
 * One native client: the bytes of its flow become whole frames.  A conn never
 * looks inside a frame.
 */
#pragma once

#include "flow.h"

struct conn;

struct conn_ops {
	/* One whole MessagePack value, valid during the call. */
	void (*on_frame)(void *arg, const char *bytes, size_t n);

	/* No further frame can come: the owner says farewell and calls conn_finish. */
	void (*on_broken)(void *arg, const struct err *why);

	/* Its first byte is that of an HTTP request: the owner takes the flow, and closes the conn, now. */
	void (*on_http)(void *arg);

	/*
	 * It is over.  Called once, by the loop and never from inside another
	 * call on the conn, so nobody loses a conn he holds; the owner closes it.
	 */
	void (*on_gone)(void *arg);
};

/* Takes fd when it succeeds; NULL and the reason if not.  The id is for the log. */
struct conn *conn_open(struct ev_loop *, int fd, uint64_t id, const struct conn_ops *, void *arg, struct err *);

/* Queue bytes; the buf is taken, and empty after the call.  What cannot be sent is no error here: on_gone comes. */
void conn_send(struct conn *, struct buf *);

void conn_hold(struct conn *, enum flow_hold);
void conn_release(struct conn *, enum flow_hold);

/* Read no more; on_gone comes when what is queued has been taken.  The reason is logged. */
void conn_finish(struct conn *, const char *reason);

/* The flow, with all that was not taken of it; the conn has none any more. */
struct flow *conn_take_flow(struct conn *);

void conn_close(struct conn **);
