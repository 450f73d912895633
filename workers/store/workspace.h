/* Directories under LangBot's default workspace. */
#ifndef STORE_WORKSPACE_H
#define STORE_WORKSPACE_H

#include "store.h"

/* Do both see the same volume?  All failures are E_READINESS. */
int workspace_verify(const struct store *, const char *marker, struct msg_box_marker *, char sha256[65], struct err *);

/* Made if it is missing; out: its path from "/" on. */
int workspace_make(const struct store *, const char *path, char out[LIM_PATH + 1], struct err *);

#endif
