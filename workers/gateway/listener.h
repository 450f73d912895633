/*
 * A listening socket: accepts clients, and never reads a byte of one.  A listener owns its
 * descriptor.
 */
#pragma once

#include <ev.h>

#include "base/err.h"
#include "base/netaddr.h"

struct listener;

/* A client, and its address (family 0: it has none).  The callee owns fd. */
typedef void listener_client(void *arg, int fd, const struct netaddr *from);

/* Accepts at once.  Takes fd when it succeeds; NULL and the reason if not. */
struct listener *listener_open(struct ev_loop *, int fd, listener_client *, void *arg, struct err *);

/* Stop and start accepting; clients wait in the kernel's backlog meanwhile. */
void listener_pause(struct listener *);
void listener_resume(struct listener *);

void listener_close(struct listener **);
