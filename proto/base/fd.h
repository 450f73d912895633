/*
 * Descriptors have one owner.  AUTO_FD closes on every way out of a scope;
 * fd_take hands the descriptor on and leaves -1 behind.
 */
#pragma once

#include <unistd.h>

static inline void
fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline int
fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define AUTO_FD __attribute__((cleanup(fd_close)))
