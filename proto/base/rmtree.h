/*
 * A tree removed by descriptors, with all that is in it, whoever else works in it meanwhile.
 */
#pragma once

#include <stdint.h>

#include "base/bounds.h"

struct rmtree {
	const char *stem;     /* for temporary names */
	uint64_t    most_sec; /* then it stops; 0: never */

	uint64_t removed;              /* entries, so far */
	char     failed[LIM_PATH + 1]; /* which one could not be, beneath the tree; "" the tree itself */
};

/* 0: dir/name is gone; 1: the time is over; -1 with errno. */
int rmtree(struct rmtree *, int dir, const char *name);
