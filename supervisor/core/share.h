/*
 * What all workspaces have together (sessions, managed processes, actions, requests to box-store) no workspace may
 * hold alone: the last part of it, a quarter by default, is kept for the others (workspace_share in boxd.conf).
 */
#pragma once

#include "base/err.h"
#include "config/config.h"

/* The most of a limit that one workspace may hold.  A part smaller than one place is not kept. */
uint64_t share_of(const struct config *, uint64_t limit);

/* -1 when a workspace that has this many may not have one more; what: the sentence that the error begins with. */
int share_check(const struct config *, uint64_t have, uint64_t limit, enum err_code, const char *what, struct err *);
