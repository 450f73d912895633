/*
 * One session's network: the sockets of its namespace, what it may reach, what goes out for it, and its numbers.
 * It begins with EGRESS_OPEN and lasts until it is closed; then all it has is cut.
 */
#pragma once

#include "egress.h"

struct net_session;

/* Of an EGRESS_OPEN, whose descriptors it takes.  NULL and the reason. */
struct net_session *net_session_open(struct egress *, struct msg *, struct err *);
void                net_session_close(struct net_session **);

uint64_t net_session_id(const struct net_session *);

/* The sets have changed: what is open is judged again. */
void net_session_rejudge(struct net_session *);

/* Answer an EGRESS_LOOK: with all that was refused before it. */
void net_session_answer(struct net_session *, uint64_t id, bool with_flows);
