/* CREATE: use the session of that name, or make it. */
#pragma once

#include "core/session.h"

int create_deliver(struct boxd *, const struct msg *, struct err *);

/*
 * For who has found the session, and a completed spec without network rules to be the same as its own, already: is
 * there nothing that a CREATE would do but use it?  Then it is used now.
 */
bool create_is_done(const struct boxd *, struct session *, const struct msg_spec *);
