/*
 * Memory that the kernel keeps for a command and that no process is seen to use: buffers of sockets, locks, queues.
 * Each row takes one unit after the other, holds them all, and adds up what the kernel says it keeps, or the least
 * that a unit must cost.  More than the session's memory is a hole.  It stops at three times that, so that a machine
 * without the wall survives.  memory=MB is the session's memory.
 */
#pragma once

#include "attack.h"

struct hoard {
	/* Take the i-th unit of this process and keep it: the bytes that it holds, or -1. */
	long (*one)(unsigned i);
};

/* Run one, of a struct hoard. */
void hoard(struct report *, const void *);

#define HOARD_OF(n, means, f) ROW("hoards." n, means, HOARD, hoard, OF(struct hoard, f))
