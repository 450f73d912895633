/* Which paths of the host a session may mount: our own list, and the operator's. */
#pragma once

#include "core/dirs.h"

struct mountrules;

struct mountrules *mountrules_open(const struct config *, const struct dirs *, struct err *);
void               mountrules_close(struct mountrules **);

/* For a worker that has to check a spec: start borrows the array, and the paths from the rules.  Others may add theirs. */
void mountrules_fill(
    const struct mountrules *, struct msg_path_rule rules[LIM_ALL_RULES], struct msg_worker_start *start);

/*
 * Is it, is it below, or does it contain a path that no session may mount?  Judged by the text of the path alone, to
 * choose between two refusals; what lets a mount through is the worker's look at the real path.
 */
bool mountrules_block(const struct mountrules *, const char *path);

/* Is it below what is blocked unless the operator names it?  Then it is open once mounts.allow has it. */
bool mountrules_opens(const struct mountrules *, const char *dir);
