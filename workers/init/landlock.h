/* The second layer behind the mounts: what they should not let be written cannot be written. */
#pragma once

#include "base/err.h"

/*
 * Restrict this process and all that come from it, as far as this kernel can.  Before
 * capabilities are given up: naming one of the places takes one.
 * slots: the cgroup directory that init itself must be able to write beneath, or 0.
 */
int landlock_confine(int slots, struct err *);
