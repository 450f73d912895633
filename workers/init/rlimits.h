/*
 * Resource limits, in two tables: of everything in the sandbox, and of commands alone.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"

enum { LIMITS = 2 };

struct limit {
	int           what;
	const char   *name; /* NULL: none */
	struct rlimit to;
};

/* Set what init and commands have alike; init itself may then open what it can. */
int limits_of_all(struct err *);

/* What each command gets on top; 0: none of it. */
void limits_of_commands(struct limit[LIMITS], uint64_t nofile, uint64_t fsize_mb);
