/* An uploaded archive unpacked, if nothing about it is wrong; every limit is one that upstream has. */
#pragma once

#include "base/err.h"
#include "skills/text.h"

/* Into an empty directory.  -1: what was written is the caller's to remove. */
int unzip(struct span archive, int into, struct err *);
