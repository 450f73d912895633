/* Paths as text.  What a path leads to is another matter: see proto/host/hostpath.h. */
#pragma once

#include <stdbool.h>

#include "base/bounds.h"

#define DEFAULT_MOUNT_PATH "/workspace" /* where the workspace is inside, unless a spec says otherwise */

/* Without empty parts, "." and a slash at the end; false when it is not absolute, too long, or has a "..". */
bool path_normal(const char *path, char out[LIM_PATH + 1]);

/* Is it dir, or below it?  Both normal. */
bool path_within(const char *path, const char *dir);
