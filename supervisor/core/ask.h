/*
 * Requests of boxd's own: routed to a session as a client's would be, answered to a function.  What several
 * steps are needed for is one such request after the other.
 */
#ifndef SUPERVISOR_ASK_H
#define SUPERVISOR_ASK_H

#include "house.h"
#include "wire/msg.h"

/* The connection that is nobody's: a reply to it comes here. */
#define CONN_OWN UINT64_MAX

struct asks;

/* The reply: failed and error, or type and body.  All of it is valid during the call only. */
typedef void ask_fn(void *arg, const struct msg *reply);

struct asks *asks_open(struct err *);
void         asks_close(struct asks **);

/*
 * The request's id, or 0 and why: then fn is never called.  Otherwise it is called once, perhaps before this
 * returns: do nothing after it with what fn may end.
 */
uint64_t ask(struct house *, enum msg_type, const void *body, ask_fn *, void *arg, struct err *);

/* The answer is not wanted any more; a command is cancelled.  0 is no request. */
void ask_drop(struct house *, uint64_t id);

/* For gateway.c: a reply to CONN_OWN. */
void asks_reply(struct asks *, enum msg_type, uint64_t id, const void *body);
void asks_fail(struct asks *, uint64_t id, const struct err *);

#endif
