/* May this real path be mounted?  See supervisor/config/mountrules.c and tenantroots.c for where the rules come from. */
#pragma once

#include "host/hostpath.h"

/* fd: of the path, or of the last directory on it that exists. */
int hostrules_check(
    const struct hostpath_ask *, int fd, const char *real, const struct msg_worker_start *rules, struct err *);

/* Is it the session's own workspace, by boxd's plan, and so to be made when it is missing?  Through a link it is not. */
bool hostrules_may_make(const char *path, const struct msg_worker_start *);
