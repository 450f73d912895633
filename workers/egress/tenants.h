/* All tenants, by the id of their session. */
#ifndef EGRESS_TENANTS_H
#define EGRESS_TENANTS_H

#include "tenant.h"

struct tenants;

struct tenants *tenants_open(struct err *); /* NULL and the reason */

/* With all tenants. */
void tenants_close(struct tenants **);

struct tenant *tenants_find(struct tenants *, uint64_t id);

/* Takes it; there is none of its id. */
int  tenants_add(struct tenants *, struct tenant *, struct err *);
void tenants_drop(struct tenants *, uint64_t id);

void tenants_each(struct tenants *, void (*fn)(struct tenant *));

#endif
