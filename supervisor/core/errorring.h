/*
 * What went wrong lately, for a host that shows it to its users.  The last of all workspaces are kept together; who
 * asks sees those of one.  In memory: a restart forgets them.
 */
#ifndef SUPERVISOR_ERRORRING_H
#define SUPERVISOR_ERRORRING_H

#include "wire/msg.h"

struct errorring;

/* Whom it happened to; empty: not told. */
struct errorring_who {
	const char *instance;
	const char *workspace;
	const char *query_id;
};

struct errorring *errorring_open(struct err *);
void              errorring_close(struct errorring **);

void errorring_add(struct errorring *, const struct errorring_who *, const struct err *);

/* Into v, which has room for LIM_RECENT_ERRORS; the oldest first.  Borrows.  who NULL: of all workspaces. */
size_t errorring_list(const struct errorring *, const struct errorring_who *, struct msg_agent_error *v);

#endif
