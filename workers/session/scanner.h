/*
 * A process that only measures.  Looking at a hundred thousand files takes a while, and
 * on a disk that hangs for ever; a worker must answer meanwhile.  And it takes rights to
 * look behind every directory's mode that nobody who talks to a sandbox should have.
 *
 * It knows the workspace and the sandbox's /proc by descriptor, has nothing else open,
 * takes no input but "once more", and ends with its worker.
 */
#ifndef SESSION_SCANNER_H
#define SESSION_SCANNER_H

#include <sys/types.h>

#include "err.h"
#include "scan.h"

struct scanner {
	pid_t pid; /* 0 without; ours to reap */
	int   fd;  /* owned; readable when an answer is there, or it is gone */
};

/* Before the worker gives its rights up.  Both descriptors are borrowed. */
int scanner_start(struct scanner *, int workspace, int proc, uint64_t max_entries, struct err *);

/* One answer comes for each. */
int scanner_ask(struct scanner *, struct err *);

/* 0 an answer, 1 none yet, -1 it is gone. */
int scanner_answer(struct scanner *, struct scan_total *, struct err *);

void scanner_stop(struct scanner *);

#endif
