/* The template every sandbox's root is a read-only view of: <state>/root. */
#ifndef SUPERVISOR_SKELETON_H
#define SUPERVISOR_SKELETON_H

#include "err.h"

/* Make it, or bring it up to date; a descriptor of it, -1 and the reason. */
int skeleton_build(const char *state_dir, struct err *);

#endif
