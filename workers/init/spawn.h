/*
 * From a plan to a running command, or to the reason why not.
 */
#ifndef INIT_SPAWN_H
#define INIT_SPAWN_H

#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "msg.h"

/* What all commands have in common; made once. */
struct spawner {
	struct sock_fprog filter; /* .filter is owned; empty once init runs under it and commands inherit it */
	struct rlimit     nofile; /* what commands get; init itself has all it may */
};

struct spawn {
	const char *const *argv;
	const char *const *env;
	const char        *workdir;
	int                in, out, err; /* to become 0, 1, 2; in may be -1: /dev/null */
	int                cgroup;       /* directory to be born in, or -1 */
	int                join[3];      /* v1 tasks files to enter by itself, or -1 */
};

/* Why there is no command: as a result tells it. */
struct spawn_failure {
	enum cause cause;
	int        exit_code;
	struct err why;
};

/* Read the seccomp program from filter_fd, and raise our own limit of descriptors. */
int spawner_init(struct spawner *, int filter_fd, struct err *);

/* Put init itself under the program: it is then paid for once and not for each command. */
int spawner_inherit_filter(struct spawner *, struct err *);

/* The pid of a child that has executed the command, or -1 and the failure; then nothing is left of it. */
pid_t spawn(const struct spawner *, const struct spawn *, struct spawn_failure *);

#endif
