/* At start: every session an earlier boxd left is taken over, or swept away. */
#ifndef SUPERVISOR_ADOPT_H
#define SUPERVISOR_ADOPT_H

#include "house.h"

int adopt_all(struct house *, struct err *);

#endif
