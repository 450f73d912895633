#pragma once

#include "base/err.h"

/* From here on only what is below these directories can be opened: one to be read, one to be written.  -1 for either: none. */
int confine(int read, int write, struct err *);
