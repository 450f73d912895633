/* At start: every session an earlier boxd left is taken over, or swept away. */
#ifndef SUPERVISOR_ADOPT_H
#define SUPERVISOR_ADOPT_H

#include "boxd.h"

int adopt_all(struct boxd *, struct err *);

#endif
