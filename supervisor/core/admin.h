/* Questions the supervisor answers from what it knows. */
#ifndef SUPERVISOR_ADMIN_H
#define SUPERVISOR_ADMIN_H

#include "house.h"

int admin_ping(struct house *, const struct msg *, struct err *);
int admin_status(struct house *, const struct msg *, struct err *);
int admin_get(struct house *, const struct msg *, struct err *);
int admin_list(struct house *, const struct msg *, struct err *);

#endif
