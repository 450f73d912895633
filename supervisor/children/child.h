/*
 * A worker process seen from outside: its program, its channel, its death.
 */
#pragma once

#include <ev.h>
#include <sys/types.h>

#include "boxd.h"
#include "wire/link.h"

struct child;

struct child_ops {
	void (*on_msg)(void *arg, struct msg *);

	/* Dead and reaped, and its last message delivered.  The owner closes the child then. */
	void (*on_gone)(void *arg, int status);
};

/* program: "box-session"; from: who it is (FROM_WORKER, FROM_GATEWAY).  NULL and the reason. */
struct child *child_start(
    struct boxd *, const char *program, unsigned from, const struct child_ops *, void *arg, struct err *);

struct link *child_link(struct child *);
pid_t        child_pid(const struct child *);

void child_kill(struct child *);

/* Close its channel, which makes a worker end by itself. */
void child_close(struct child **);

/* Kill it, too.  NULL is ignored. */
void child_end(struct child **);

/* "signal=9" or "exit=1", for the log. */
struct child_status {
	char text[32];
};

struct child_status child_status(int status);
