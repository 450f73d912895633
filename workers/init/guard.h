/*
 * What the kernel holds for commands and counts as nobody's memory: looked at while
 * anything runs, and ended when it is too much.
 */
#pragma once

#include "execs.h"

struct guard {
	struct execs *execs;
	int           used; /* owned; /proc/net/sockstat of our network namespace */
	int           used6;
	int           diag;    /* owned; asks the kernel about each socket */
	int           slab;    /* owned; /proc/meminfo */
	int           locks;   /* owned; /proc/locks */
	uint64_t      slab_kb; /* when the locks were last looked at, or less */
	int64_t       wake_ns; /* the next look; NEVER: nothing runs */
};

/* Open what it looks at; before /proc is out of reach.  What is missing is not looked at. */
void guard_open(struct guard *);

/* Once per turn of the loop. */
void    guard_turn(struct guard *);
int64_t guard_wake(const struct guard *);
