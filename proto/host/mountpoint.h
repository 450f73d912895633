/* Where in a sandbox nothing may be mounted for a client, because boxd and every command rely on what is there. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* 0, or -1 and a sentence that begins with the path as it was given.  normal: the path itself, as path_normal has it. */
int mountpoint_check(const char *normal, const char *shown, struct err *);

/* Is it a place that nothing may be mounted below either, or below one? */
bool mountpoint_is_closed(const char *normal);

/* The places themselves; NULL behind the last. */
const char *mountpoint_place(unsigned n);
