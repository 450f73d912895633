/* A /proc that is believed only when it is one. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/*
 * The root of the procfs that is mounted at this path, opened for reading; -1: it is something else, or not there.  No
 * symlink is followed, and the path does not leave the directory.
 */
int procfs_open(int dir, const char *path, struct err *);

/* Which mount a descriptor is on; -1 with errno. */
int procfs_mount(int fd, uint64_t *id);
