/*
 * The namespace of a sandbox refuses ranges of netrange.def by itself, but for networks that the operator's rules opened
 * when it was built.  After a change of the rules every living sandbox is updated, one after the other: a box-session
 * enters its namespace, sets what is open now, and ends.
 */
#pragma once

#include "boxd.h"

struct reopen;

struct reopen *reopen_open(struct boxd *, struct err *);
void           reopen_close(struct reopen **);

/* Rules of a new generation hold. */
void reopen_all(struct reopen *);
