/*
 * Sandboxes built ahead.  A create that finds one waits for a message instead of a
 * program start and a dozen mounts; then the next spare is built.
 */
#pragma once

#include "boxd.h"
#include "wire/msg.h"

struct spares *spares_open(struct boxd *, struct err *);
void           spares_close(struct spares **);

/* One of this kind was asked for.  Those with a network are built ahead only where they are used. */
void spares_asked(struct spares *, enum network);

/* The operator's rules have changed: those with a network were built by the old ones. */
void spares_outdated(struct spares *);

/* One became a session; build another. */
void spares_used(struct spares *);

/* One died without being used; build another, but not at once. */
void spares_lost(struct spares *);
