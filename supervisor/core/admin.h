/* Questions the supervisor answers from what it knows. */
#pragma once

#include "boxd.h"

int admin_ping(struct boxd *, const struct msg *, struct err *);
int admin_status(struct boxd *, const struct msg *, struct err *);
int admin_get(struct boxd *, const struct msg *, struct err *);
int admin_list(struct boxd *, const struct msg *, struct err *);
