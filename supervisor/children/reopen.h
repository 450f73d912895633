/*
 * The namespace of a sandbox refuses ranges of netrange.def by itself, but for networks that the operator's rules opened
 * when it was built.  After other rules were read, every living sandbox is told what is open now: by a worker of its own
 * kind that enters the namespace and ends, one after the other.
 */
#ifndef SUPERVISOR_REOPEN_H
#define SUPERVISOR_REOPEN_H

#include "boxd.h"

struct reopen;

struct reopen *reopen_open(struct boxd *, struct err *);
void           reopen_close(struct reopen **);

/* Rules of a new generation hold. */
void reopen_all(struct reopen *);

#endif
