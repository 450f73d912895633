/*
 * Give up every right this process does not need.  Called once, after the event loop, the resolver and the routes
 * stand, and before the first byte of a sandbox is read.
 */
#pragma once

#include "host/confine.h"

/* root and uid are given.  All steps or -1; the error names the step.  After -1 the process must end. */
int confine(const struct confinement *, struct err *);
