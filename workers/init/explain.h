/* Why a command could not be started, in words that name what is wrong with it. */
#pragma once

#include "base/err.h"
#include "spawn.h"

/* errno is what execve said.  True: there is no program of that name. */
bool explain_exec(struct err *, const struct spawn *);

/* errno is what workdir_open said. */
void explain_workdir(struct err *, const struct spawn *);
