/* The file a volume is in. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/newfile.h"

/*
 * A new file in the pool directory with an empty file system, not under its name yet.  All of its space is taken now:
 * a disk that fills up later must not make a volume fail in the middle of a write.
 */
int image_make(int pool, uint64_t size_mb, uint64_t inodes, struct newfile *, struct err *);

/* A detached mount of it; -1 and why. */
int image_mount(int image, struct err *);

/* Is it this image that is mounted at that directory?  -1: something else is; the text says so. */
int image_is_at(int image, int dir, const char *path, struct err *);
