/* Which paths of the host a session may mount: our own list, and the operator's. */
#ifndef SUPERVISOR_MOUNTRULES_H
#define SUPERVISOR_MOUNTRULES_H

#include "dirs.h"

struct mountrules;

struct mountrules *mountrules_open(const struct config *, const struct dirs *, struct err *);
void               mountrules_close(struct mountrules **);

/* For a worker that has to check a spec; borrows from the rules, and others may add theirs until the next call. */
void mountrules_fill(const struct mountrules *, struct msg_worker_start *);

#endif
