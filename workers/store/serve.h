/* One request, done and answered: the work of a process that has nothing else to do. */
#pragma once

#include "store.h"

/* Requests of one workspace are done one after the other: by this name.  NULL: it is not for box-store. */
const char *serve_lane(const struct msg *);

/* Nothing else may happen meanwhile. */
bool serve_alone(enum msg_type);

/* Encodes the answer, whatever it is; -1 when not even that is possible. */
int serve(const struct store *, const struct msg *, struct packet *, struct err *);
