/* A directory in which a sandbox is tried, for a moment; what a crash left of one is removed by the next start. */
#pragma once

#include "record.h"
#include "wire/msg.h"

int trial_begin(const char *pool_path, const struct msg_pool_trial *, struct err *);

/* Is this text, and nothing else, in that file? */
int trial_look(const struct msg_pool_look *, bool *seen, struct err *);

int trial_end(int pool, const char *path, struct err *);
