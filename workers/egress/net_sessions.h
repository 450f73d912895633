/* All tenants, by the id of their session. */
#pragma once

#include "net_session.h"

struct net_sessions;

struct net_sessions *net_sessions_open(struct err *); /* NULL and the reason */

/* With all tenants. */
void net_sessions_close(struct net_sessions **);

struct net_session *net_sessions_find(struct net_sessions *, uint64_t id);

/* Takes it; its id must be new. */
int  net_sessions_add(struct net_sessions *, struct net_session *, struct err *);
void net_sessions_drop(struct net_sessions *, uint64_t id);

void net_sessions_each(struct net_sessions *, void (*fn)(struct net_session *));
