/*
 * slirp4netns: a network with UDP for operators who need it, by a program of the host that speaks for the sandbox.
 * It is started beside the sandbox and ends with its init, which holds the other end of a pipe.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "sandbox/cgroup.h"

/* Pipes, owned; -1 without. */
struct slirp {
	int ready, say_ready; /* it writes a byte when the namespace is set up */
	int stop, hold;       /* it ends when nobody holds the second any more */
};

#define SLIRP_NONE ((struct slirp){ -1, -1, -1, -1 })

/* -1: it is not installed, and what to do. */
int slirp_prepare(struct slirp *, struct err *);

/* For the namespace of that process; what it takes from the machine is charged to these cgroups. */
int slirp_start(struct slirp *, const struct cgroup *, pid_t, struct err *);

/* In the child: until it is ready.  -1: it ended. */
int slirp_await(const struct slirp *, struct err *);

void slirp_clear(struct slirp *);
