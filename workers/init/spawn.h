/*
 * From a plan to a running command, or to the reason why not.
 */
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include "rlimits.h"
#include "wire/msg.h"

/* What all commands have in common; made once. */
struct spawner {
	struct sock_fprog filter;         /* .filter is owned; empty once init runs under it and commands inherit it */
	struct limit      limits[LIMITS]; /* of commands alone */
	int               oom;            /* owned; our own oom_score_adj, or 0 */
	char              oom_base[16];   /* what it says when no command is being born */
};

enum { SCRIPT_FD = 9 }; /* the highest that every shell can name */

struct spawn {
	const char *const *argv;
	const char *const *env;
	const char        *workdir;
	int                in, out, err; /* to become 0, 1, 2; in may be -1: /dev/null */
	int                program;      /* file to execute, or -1: argv[0] is looked up */
	int                script;       /* to become SCRIPT_FD, or -1; not with a program */
	int                cgroup;       /* directory to be born in, or -1 */
	int                join[3];      /* v1 tasks files to enter by itself, or -1 */
	int                mounts;       /* mount namespace to enter, or -1: init's own */
};

/* Why the command did not start: the text for its result. */
struct spawn_failure {
	enum cause cause;
	int        exit_code;
	bool       missing; /* there is no program of that name */
	struct err why;
};

/* Read the seccomp program from filter_fd; take oom_fd. */
int spawner_init(struct spawner *, int filter_fd, int oom_fd, struct err *);

/* Put init itself under the program: it is then paid for once and not for each command. */
int spawner_inherit_filter(struct spawner *, struct err *);

/* The pid of a child that has executed the command, or -1 and the failure; then nothing is left of it. */
pid_t spawn(const struct spawner *, const struct spawn *, struct spawn_failure *);
