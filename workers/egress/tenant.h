/*
 * One session's network: the sockets of its namespace, what it may reach, what goes out for it, and its numbers.
 * It is told by EGRESS_OPEN and lasts until it is closed; then all it has is cut.
 */
#ifndef EGRESS_TENANT_H
#define EGRESS_TENANT_H

#include "egress.h"

struct tenant;

/* Of an EGRESS_OPEN, whose descriptors it takes.  NULL and the reason. */
struct tenant *tenant_open(struct egress *, struct msg *, struct err *);
void           tenant_close(struct tenant **);

uint64_t tenant_id(const struct tenant *);

/* The sets have changed: what is open is judged again. */
void tenant_rejudge(struct tenant *);

/* Answer an EGRESS_LOOK: with all that was refused before it. */
void tenant_answer(struct tenant *, uint64_t id, bool with_flows);

#endif
