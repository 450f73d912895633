/* Mount points in the new root, which is the current directory and not yet the root. */
#ifndef SESSION_PLACE_H
#define SESSION_PLACE_H

#include <stdbool.h>

#include "err.h"

/*
 * An O_PATH descriptor of it; directories that are missing are made, and an empty file
 * when it is for one.  A symlink on the way leads nowhere but into the new root.
 */
int place_make(const char *path, bool is_file, struct err *);

#endif
