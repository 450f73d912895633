/* At start: adopt every session that an earlier boxd left, or sweep its rest. */
#ifndef SUPERVISOR_ADOPT_H
#define SUPERVISOR_ADOPT_H

#include "boxd.h"

int adopt_all(struct boxd *, struct err *);

#endif
