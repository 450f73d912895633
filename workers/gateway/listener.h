/*
 * The door: accepts clients and counts those inside.  It never reads a byte of
 * one.  A listener owns its descriptor.
 */
#ifndef GATEWAY_LISTENER_H
#define GATEWAY_LISTENER_H

#include <ev.h>
#include <stddef.h>

#include "err.h"

struct listener;

struct listener_ops {
	/* A client, counted until listener_left.  The callee owns fd. */
	void (*on_client)(void *arg, int fd);

	/* One too many: not counted, closed after the call. */
	void (*on_excess)(void *arg, int fd);
};

/* Accepts at once.  Takes fd when it succeeds; NULL and the reason if not. */
struct listener *listener_open(
    struct ev_loop *, int fd, size_t most, const struct listener_ops *, void *arg, struct err *);

/* One of the counted is gone. */
void listener_left(struct listener *);

/* Stop and start accepting; clients wait in the kernel's backlog meanwhile. */
void listener_pause(struct listener *);
void listener_resume(struct listener *);

void listener_close(struct listener **);

#endif
