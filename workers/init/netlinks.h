/*
 * Netlink sockets of commands: a fixed number for the whole sandbox.
 *
 * Memory in their buffers is charged to nobody.  libc needs one for a moment, in
 * getaddrinfo and getifaddrs.  So the kernel asks us about each of them.
 */
#pragma once

#include "loop.h"

struct netlinks {
	struct source listener;  /* owned; -1: all are refused */
	int           protocols; /* owned; /proc/net/protocols of our network namespace */
	uint64_t      before;    /* sockets that were there before any command */
};

/* Open the file with their number, before /proc is out of reach. */
void netlinks_open(struct netlinks *);

/* From here on none is made without us, by this process and all its children. */
int netlinks_guard(struct netlinks *, struct loop *, struct err *);
