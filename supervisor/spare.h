/*
 * Session workers started ahead.  A program start costs about as much as building a
 * sandbox; a spare has it behind it and waits for its WORKER_START.
 */
#ifndef SUPERVISOR_SPARE_H
#define SUPERVISOR_SPARE_H

#include "child.h"
#include "house.h"

struct spares *spares_open(struct house *, struct err *);
void           spares_close(struct spares **);

/* A worker for this owner: a spare if there is one, else a new process; NULL and the reason. */
struct child *spares_take(struct spares *, const struct child_ops *, void *arg, struct err *);

#endif
