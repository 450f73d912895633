/*
 * Two processes that only measure.  Looking at a hundred thousand files takes a while,
 * and on a disk that hangs for ever; a worker must answer meanwhile.  And it takes rights
 * to look behind every directory's mode that nobody who talks to a sandbox should have.
 *
 *	box-scan  walks the places, and answers.  It may read directories beneath them, and
 *	          nothing else: landlock.
 *	box-look  sends it the files without a name the sandbox's processes have open.
 *	          Landlock would keep it from looking at any process, so the sandbox's /proc
 *	          is its root instead.
 *
 * Both have the uid that their worker will have, so that it can kill them and the sandbox
 * cannot.  They are in the session's cgroups, have all the memory they will ever have, know
 * what they look at by descriptor, make no system call beside a dozen, take no input but
 * "once more", and end with their worker.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "disk/scan.h"
#include "sandbox/cgroup.h"

enum { SCANNERS = 2 };

struct scanner {
	pid_t pid[SCANNERS];   /* 0: not ours to reap */
	int   pidfd[SCANNERS]; /* owned, or -1; our filter lets us signal no other way */
	int   fd;              /* owned; readable when an answer is there, or it is gone */
};

#define SCANNER_NONE ((struct scanner){ .fd = -1, .pidfd = { -1, -1 } })

struct scanner_plan {
	const int           *places; /* borrowed; directories and files to be measured */
	size_t               nplaces;
	int                  proc; /* borrowed; the sandbox's /proc */
	uint64_t             max_entries;
	uint32_t             uid;        /* to become */
	bool                 is_root;    /* without, it is what it is already */
	const struct cgroup *cgroup;     /* whose it shall be */
	bool                 given_away; /* it outlives who starts it, and ends when its descriptor is closed */
};

/* Before the worker gives its rights up. */
int scanner_start(struct scanner *, const struct scanner_plan *, struct err *);

/* One answer comes for each. */
int scanner_ask(struct scanner *, struct err *);

/* 0 an answer, 1 none yet, -1 it is gone. */
int scanner_answer(struct scanner *, struct scan_total *, struct err *);

void scanner_stop(struct scanner *);
