/* At start: adopt every session that an earlier boxd left, or sweep its rest. */
#pragma once

#include "boxd.h"

int adopt_all(struct boxd *, struct err *);
