/*
 * box-init as pid 1 of fresh user, pid and mount namespaces, for a test that is its
 * master.
 */
#pragma once

#include <sys/types.h>

/* How the outer process ends when it does not come as far as init. */
enum { INIT_NO_NAMESPACES = 119, INIT_NO_PROC = 121, INIT_NO_PROGRAM = 122 };

/*
 * Start it, with its socket at this path; *chan is our end of its first channel.  The
 * pid of an outer process that ends with it, and with its status.
 */
pid_t init_spawn(const char *program, const char *mode, const char *orphan_ms, const char *path, int *chan);

/* Another master's channel. */
int init_connect(const char *path);
