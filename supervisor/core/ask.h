/*
 * Requests that boxd makes itself.  Most are routed to a session as a client's would be, some go to a helper; a function
 * receives the reply.  A task of several steps makes one such request after the other.
 */
#pragma once

#include "boxd.h"
#include "wire/msg.h"

/* The connection of boxd's own requests.  No client has it. */
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
uint64_t ask(struct boxd *, enum msg_type, const void *body, ask_fn *, void *arg, struct err *);

/* The same, but a refusal is an answer as well, and *id (may be NULL) is set before fn may be called. */
void ask_as(struct boxd *, uint64_t *id, enum msg_type, const void *body, ask_fn *, void *arg);

/* The id alone, for somebody else to answer with a reply to (CONN_OWN, id).  0 and why: no memory. */
uint64_t ask_open(struct boxd *, enum msg_type, ask_fn *, void *arg, struct err *);

/* Nobody wants the answer any more; a command is cancelled.  An id of 0 is ignored. */
void ask_drop(struct boxd *, uint64_t id);

/* Cancel a command of ours.  One that cannot be cancelled has ended. */
void ask_cancel(struct boxd *, uint64_t command);

/* For reply.c: a reply to CONN_OWN, with the request's id. */
void asks_answer(struct asks *, const struct msg *reply);
