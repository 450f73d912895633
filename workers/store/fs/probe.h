/*
 * Is the storage of skills bounded by the kernel?  Told only of what was tried: a write beyond the limit, and a
 * file more than there may be, that were refused.
 */
#pragma once

#include "store.h"

/* why: owned by the caller, LIM_TEXT + 1 long. */
int probe(const struct store *, struct msg_store_disk *, char *why, struct err *);

/* Something that changes when the file system there is another, or has another size. */
uint64_t probe_mark(const struct store *);
