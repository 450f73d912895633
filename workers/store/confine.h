/* The walls around box-store. */
#ifndef STORE_CONFINE_H
#define STORE_CONFINE_H

#include <sys/types.h>

#include "store.h"

/* Only these directories are left from here on, and the rights of whom the skills belong to. */
int confine(const struct store *, struct err *);

/* Walls around one request, in its own process: it ends with us, and is bounded in memory and files. */
int confine_job(pid_t store, bool large_files, struct err *);

#endif
