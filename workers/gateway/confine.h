/*
 * Give up every right this process does not need.  Called once, after the event
 * loop stands and before the first byte of a stranger is read.
 */
#ifndef GATEWAY_CONFINE_H
#define GATEWAY_CONFINE_H

#include <stdint.h>

#include "err.h"

struct confinement {
	const char *root; /* empty directory to be locked into; used when root */
	uint64_t    uid;  /* to become, and its gid; used when root */
};

/* All steps or -1; the error names the step.  After -1 the process must end. */
int confine(const struct confinement *, struct err *);

#endif
