/*
 * SIGINT, SIGTERM and SIGHUP as something to poll for: the first asks for an
 * orderly end, the second for an end at once.
 */
#pragma once

#include "base/err.h"

struct interrupt {
	int      fd;     /* owned; readable when one came */
	int      signal; /* the first one; 0: none yet */
	unsigned count;
};

/* From here on these signals do not kill us, and neither does a closed pipe. */
int  interrupt_open(struct interrupt *, struct err *);
void interrupt_read(struct interrupt *);
void interrupt_close(struct interrupt *);
