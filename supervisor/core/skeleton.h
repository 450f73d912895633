/*
 * The template every sandbox's root is a read-only view of.
 *
 * As root it is on a tmpfs, in a mount namespace that has nothing else and that nobody but our workers
 * enters: a sandbox's mountinfo then shows no directory of the host, the host's own list of mounts
 * does not show it, and it is gone however boxd ends.  An ordinary user has it in <state>/root.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct skeleton {
	int dir; /* owned */
	int ns;  /* owned; the mount namespace to copy it from, or -1: our own */
};

/* Make it, or bring it up to date. */
int  skeleton_build(struct skeleton *, const char *state_dir, bool hidden, struct err *);
void skeleton_close(struct skeleton *);
