/* Why a program could not be executed, in words that name what is wrong with it. */
#ifndef INIT_EXPLAIN_H
#define INIT_EXPLAIN_H

#include "err.h"
#include "spawn.h"

/* errno is what execve said. */
void explain_exec(struct err *, const struct spawn *);

#endif
