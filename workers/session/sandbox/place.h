/*
 * Mount points in the new root, which is the current directory and not yet the root.
 *
 * What is mounted in it may be written by others, and by commands of an earlier session, so a symlink there is never
 * followed: it would move the mount to a place of their choice.  The links of the root itself are the skeleton's or
 * the image's; no command has run in it yet.  They are followed inside of the root, and where they lead is judged
 * again.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * An O_PATH descriptor of it; directories that are missing are made, and an empty file when it is for one.  The error
 * names the link that is in the way.
 */
int place_make(const char *path, bool is_file, struct err *);

/*
 * The same for a client's mount: not on what boxd and every command rely on, whatever links lead there.  living: what
 * cannot be written is shadowed (shadow.h).
 */
int place_make_for_client(const char *path, bool is_file, bool living, struct err *);

/* Once all are mounted: does this path lead to this mount, or has a later one hidden it? */
int place_check(const char *path, int mount, struct err *);
