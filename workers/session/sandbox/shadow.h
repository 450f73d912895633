/*
 * A directory that cannot be written, made one in which mount points can be: a small tmpfs over it, in which all that
 * it holds is mounted or linked.  Only in the mount namespace of one command: nobody else sees it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* An O_PATH descriptor of the new directory.  is_root: and stand in it, as our root. */
int shadow_make(int dir, bool is_root, struct err *);

/* Is this place in one of them? */
bool shadow_has(int fd);

/* Everything is in its place: all of them are read-only from here on. */
int shadow_seal(struct err *);
