/* Directories under LangBot's default workspace. */
#pragma once

#include "store.h"

/* Do both see the same volume?  All failures are E_READINESS. */
int workspace_verify(const struct store *, const char *marker, struct msg_box_marker *, char sha256[65], struct err *);

/* The workspace's directory, and in it .mcp, inbox and outbox: the last three are parts of the first. */
enum { WORKSPACE_AMOUNTS = 4 };

/* n is 0 when there is no default workspace that can be used; else all of v, and the directory's path, though it may not exist. */
int workspace_measure(const struct store *, const char *ns, char path[LIM_PATH + 1],
    struct msg_amount v[WORKSPACE_AMOUNTS], size_t *n, struct err *);

/* Made if it is missing; out: its path from "/" on. */
int workspace_make(const struct store *, const char *path, char out[LIM_PATH + 1], struct err *);
