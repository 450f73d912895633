/*
 * The directories that a configuration means: found, made where they are missing, and opened.  This is done
 * with boxd's own rights, before box-store gives them up.
 */
#pragma once

#include <sys/types.h>

#include "store.h"

struct places {
	char   skills_root[LIM_PATH + 1];
	char   host_root[LIM_PATH + 1];
	char   default_workspace[LIM_PATH + 1];
	char **allowed; /* owned, and each; a NULL behind the last */
	size_t n_allowed;
};

/* Fills store, whose paths point into places. */
int places_open(struct places *, struct store *, const struct msg_store_start *, struct err *);

/* Whom the skills belong to. */
int places_owner(const struct store *, uid_t *, gid_t *, struct err *);
