/*
 * LangBot's door: its TCP listener, the token, which instance is trusted, who failed how often.  Decides
 * HTTP_AUTH; the gateway only carries what a client presented.
 */
#ifndef SUPERVISOR_DOOR_H
#define SUPERVISOR_DOOR_H

#include "house.h"
#include "msg.h"

struct door *door_open(struct house *, struct err *);
void         door_close(struct door **);

/* HTTP_AUTH of a stranger's connection: answered now or later, by gateway_reply and gateway_fail. */
int door_auth(struct house *, const struct msg *, struct err *);

/* The instance that is trusted; empty while none is. */
const char *door_instance(const struct door *);

#endif
