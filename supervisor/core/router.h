/* A client's message: which actor is it for. */
#pragma once

#include "boxd.h"

struct identity;

/* -1: refused; the caller sends the client the reason. */
int route(struct boxd *, struct msg *, struct err *);

/* The same for a client's: may it send this at all?  A relay may only speak with its one process. */
int route_from(struct boxd *, const struct identity *, struct msg *, struct err *);
