/*
 * Supervises box-egress, the only way out for sessions whose network is on.  The first of them starts it, and it is
 * restarted when it dies.  What it needs to serve a session is kept here, so that a restart loses open connections, but
 * no rules and no counters.
 *
 * The operator's rules are here as well.
 */
#pragma once

#include "config/netrules.h"
#include "core/ask.h"

struct egress;

/* The text of an error is "file:line: what is wrong" when that is the rules'. */
struct egress *egress_open(struct boxd *, struct err *);
void           egress_close(struct egress **);

/* Start box-egress: a session is about to need it. */
void egress_wake(struct egress *);

struct egress_session {
	uint64_t           id;                      /* of the session */
	const char        *set;                     /* of the operator's rules */
	const struct strs *narrow;                  /* the client's rules */
	int                listener, dns, refusals; /* taken in any case; refusals may be -1 */
};

/* Turn a session's network on.  Nothing changes if it is on already. */
int  egress_join(struct egress *, const struct egress_session *, struct err *);
void egress_leave(struct egress *, uint64_t id);

/* As box-egress reported it last; lent until the loop runs. */
struct msg_net_info egress_info(const struct egress *, uint64_t id);

/*
 * The same as it is now.  fn gets a MSG_NET_INFO or a failure, once, perhaps before this returns; without an answer
 * it fails after LIM_EGRESS_LOOK_SEC.
 */
void egress_look(struct egress *, uint64_t id, bool flows, ask_fn *, void *arg);

/* The operator's rules, and which reading of the file they are. */
const struct netrules *egress_rules(const struct egress *);
uint64_t               egress_generation(const struct egress *);

/* Read the file again.  -1: nothing has changed. */
int egress_reload(struct egress *, struct err *);

/* NET, NET_RELOAD and NET_RULES of a client. */
int egress_deliver(struct boxd *, const struct msg *, struct err *);
