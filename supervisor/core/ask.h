/*
 * Requests of boxd's own: routed to a session as a client's would be, answered to a function.  What several
 * steps are needed for is one such request after the other.
 */
#ifndef SUPERVISOR_ASK_H
#define SUPERVISOR_ASK_H

#include "boxd.h"
#include "wire/msg.h"

/* The connection that is nobody's: a reply to it comes here. */
#define CONN_OWN UINT64_MAX

struct internal_calls;

/* The reply: failed and error, or type and body.  All of it is valid during the call only. */
typedef void ask_fn(void *arg, const struct msg *reply);

struct internal_calls *internal_calls_open(struct err *);
void                   internal_calls_close(struct internal_calls **);

/*
 * The request's id, or 0 and why: then fn is never called.  Otherwise it is called once, perhaps before this
 * returns: do nothing after it with what fn may end.
 */
uint64_t ask(struct boxd *, enum msg_type, const void *body, ask_fn *, void *arg, struct err *);

/* The answer is not wanted any more; a command is cancelled.  0 is no request. */
void ask_drop(struct boxd *, uint64_t id);

/* For gateway.c: a reply to CONN_OWN. */
void asks_reply(struct internal_calls *, enum msg_type, uint64_t id, const void *body);
void asks_fail(struct internal_calls *, uint64_t id, const struct err *);

#endif
