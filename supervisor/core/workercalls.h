/* The system calls that a session's worker has left once its sandbox stands. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* A sealed memfd with the program, compiled once for all of them; own_uids: each has uids of its own.  -1 and the reason. */
int workercalls_compile(bool own_uids, struct err *);
