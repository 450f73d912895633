/*
 * A sandbox is made as any other, in a directory beside the workspaces, and does what an attacker would: it fills
 * everything it can write to.  What the kernel refused, and only that, is bounded.
 */
#pragma once

#include "boxd.h"
#include "wire/msg.h"

#define TRIAL_PREFIX "readiness-" /* of its session and of its directory, which are no workspace's */

struct findings {
	bool workspace;     /* a directory could be made beside the workspaces */
	bool ran;           /* a command did, to its end */
	bool mount;         /* what it wrote was seen on the host */
	bool network;       /* its network is not ours */
	bool bytes, inodes; /* of its workspace, refused at the limit */
	bool ephemeral;     /* everything else it could write to, likewise */
	bool skills;        /* box-store found the same of the skills */
	char why[LIM_TEXT]; /* of each that is not so, in one text */
};

struct trial;

/* fn when nothing is left of it, perhaps before trial_run returns; it closes the trial. */
struct trial *trial_open(struct boxd *, void (*fn)(void *arg, const struct findings *), void *arg, struct err *);
void          trial_run(struct trial *);

/* Before its end only when boxd is taken down. */
void trial_close(struct trial **);

/* What the command printed; pure. */
void trial_read(struct findings *, const char *output, size_t n, const char *own_network);
