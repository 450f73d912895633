/* ext4 in a file behind a loop device, for whoever bounds a directory that way.  All of it may block. */
#pragma once

#include "base/err.h"

enum { LOOPFS_BLOCK = 4096 }; /* of the loop device; smaller ones of the file system would not fit it */

/* A program and its arguments, from a fixed place; what it writes to standard error becomes the reason. */
int tool_run(const char *program, char *const argv[], struct err *);

/* mkfs.ext4 with these arguments; -1 when it is not installed, or fails. */
int loopfs_mkfs(char *const argv[], struct err *);

/* A loop device of the image, which clears itself with its last user; its name.  -1 and why. */
int loopfs_attach(int image, char device[32], struct err *);

/* A detached mount of it. */
int loopfs_mount(const char *device, struct err *);
