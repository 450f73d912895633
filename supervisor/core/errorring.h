/*
 * The latest errors, for a host application that shows them to its users.  One ring holds those of all workspaces; a
 * caller sees those of its own.  They are kept in memory: a restart forgets them.
 */
#pragma once

#include "wire/msg.h"

struct errorring;

/* Whom it happened to; empty: unknown. */
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
