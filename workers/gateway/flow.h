/*
 * The bytes of one client's socket, in by callback, out by a queue; and silence has its limits.  With TLS or without;
 * a flow never looks at what the bytes mean.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct flow;
struct tls_keys;

struct flow_ops {
	/*
	 * What the client has sent and nobody has taken yet, valid during the call.  Says how much of it is done
	 * with; more than nothing: it is called again for the rest.  What is left comes again with the next bytes.
	 */
	size_t (*on_bytes)(void *arg, const char *bytes, size_t n);

	/* The client did not deliver what flow_owe says. */
	void (*on_deadline)(void *arg);

	/* The socket has taken bytes, and no more than LIM_CONN_LOW wait; may be NULL. */
	void (*on_drained)(void *arg);

	/*
	 * It is over.  Called once, by the loop and never from inside another call on the flow, so nobody
	 * loses a flow he holds; the owner closes it.
	 */
	void (*on_gone)(void *arg);
};

/* Why a client is not read for now; any of them is enough. */
enum flow_hold {
	HOLD_OUTPUT = 1 << 0, /* it does not read what it asked for (the flow's own) */
	HOLD_LINK = 1 << 1,   /* the supervisor does not keep up */
	HOLD_PINGS = 1 << 2,  /* it pings faster than it is answered */
	HOLD_ANSWER = 1 << 3, /* the supervisor is asked who it is */
	HOLD_GUEST = 1 << 4,  /* too much waits for the one behind its WebSocket */
};

/* Takes fd when it succeeds; NULL and the reason if not.  The id is for the log; keys: NULL for plain bytes. */
struct flow *flow_open(
    struct ev_loop *, int fd, uint64_t id, struct tls_keys *, const struct flow_ops *, void *arg, struct err *);

/* From here on somebody else is called, also for bytes that nobody has taken. */
void flow_pass(struct flow *, uint64_t id, const struct flow_ops *, void *arg);

/* It stays the flow's; for the supervisor to look at. */
int flow_fd(const struct flow *);

/* Queue bytes; the buf is taken, and empty after the call.  What cannot be sent is no error here: on_gone comes. */
void flow_send(struct flow *, struct buf *);

/* Bytes that the socket has not taken yet. */
size_t flow_queued(const struct flow *);

void flow_hold(struct flow *, enum flow_hold);
void flow_release(struct flow *, enum flow_hold);
bool flow_is_read(const struct flow *);

/* What on_bytes has left comes again soon, also without new bytes. */
void flow_again(struct flow *);

/* on_deadline comes after so long; 0: never.  The clock rests while the client is held.  The same time again: it goes on. */
void flow_owe(struct flow *, double sec);

/* Read no more; on_gone comes when what is queued has been taken.  The reason is logged. */
void flow_finish(struct flow *, const char *reason);

/*
 * The same, and then wait a little for the client to close too: with bytes of it unread TCP would send a reset,
 * which may overtake our last words.
 */
void flow_part(struct flow *, const char *reason);

/* At once; what is queued is lost. */
void flow_drop(struct flow *, const char *reason);

void flow_close(struct flow **);
