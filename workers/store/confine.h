/* The walls around box-store. */
#pragma once

#include <sys/types.h>

#include "store.h"

/* From here on only these directories can be reached, with the rights of the user who owns the skills. */
int confine(const struct store *, struct err *);

/* Walls around one request, in its own process: it ends with us, and is bounded in memory and files. */
int confine_job(pid_t store, bool large_files, struct err *);
