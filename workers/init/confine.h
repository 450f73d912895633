/*
 * Init gives away what it does not need before it does anything else.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/*
 * No core, no privilege by exec, signals blocked with their default actions,
 * and no capability but those that telling commands apart by mark needs.
 */
int confine(bool marks, struct err *);
