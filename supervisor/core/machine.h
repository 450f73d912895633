/*
 * What this machine gives a sandbox, found out once at start: which walls hold,
 * where its cgroups go, and the files that every worker needs.
 */
#pragma once

#include "core/dirs.h"
#include "core/skeleton.h"
#include "host/probe.h"

struct machine {
	struct err           barrier; /* E_NONE, or why no sandbox can be made here */
	struct walls         walls;
	struct wall_lists    lists;
	struct msg_isolation isolation; /* borrows from the two above */
	char                 unified[PATH_MAX];
	char                 v1[CG__COUNT][PATH_MAX];
	struct msg_cgroups   cgroups;           /* borrows from the two above */
	char                 leaf_of[PATH_MAX]; /* our own cgroup, when we moved into a leaf of it; "" if not */
	int                  init;              /* owned; box-init in a sealed memfd */
	int                  files;             /* owned; box-files, likewise */
	int                  filter;            /* owned; seccomp program of commands */
	int                  worker_calls;      /* owned; that of session workers */
	struct skeleton      skeleton;          /* owned; what a root is a view of */
	bool pids_by_rlimit; /* no cgroup limits processes: the limit is set at a sandbox's birth, for good */
	bool root;           /* boxd can give every session a range of uids */
};

/* Fails only where boxd itself cannot work; .isolation lists missing walls. */
int machine_open(struct machine *, struct dirs *, const struct config *, struct err *);

/* -1: the list has a wall that this machine lacks.  All names are valid. */
int machine_require(const struct machine *, const struct strs *names, struct err *);

/* Remove our cgroup directories, if no session is left in them. */
void machine_tidy(const struct machine *);
void machine_close(struct machine *);
