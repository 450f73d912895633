/*
 * The reply to a request: a client's goes to the gateway, one of boxd's own (CONN_OWN) to the function that waits for
 * it.  It is not an error if nobody waits any more.
 */
#pragma once

#include "boxd.h"
#include "wire/msg.h"

void reply_send(struct boxd *, enum msg_type, uint64_t conn, uint64_t id, const void *body);
void reply_fail(struct boxd *, uint64_t conn, uint64_t id, const struct err *);
