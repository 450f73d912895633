/* May this real path be mounted?  See supervisor/mountrules.c for where the rules come from. */
#ifndef SESSION_HOSTRULES_H
#define SESSION_HOSTRULES_H

#include "hostpath.h"

int hostrules_check(const struct hostpath_ask *, const char *real, const struct msg_worker_start *rules, struct err *);

#endif
