/*
 * Which cgroup hierarchies this process may make directories in, and which
 * controllers they give.  Read-only: nothing is created here.
 */
#pragma once

#include <linux/limits.h> /* <limits.h> would find our own limits.h and lose PATH_MAX */
#include <stdbool.h>

/* Three limit; the freezer is one of cgroup v1 only, v2 has it without a controller. */
enum cg_controller { CG_MEMORY, CG_PIDS, CG_CPU, CG_FREEZER, CG__COUNT, CG__LIMITS = CG_FREEZER };

struct cg_place {
	char dir[PATH_MAX]; /* directory we may create ours in; "" if there is no such place */
	char why[256];      /* when "": the barrier */
};

struct cg_found {
	struct cg_place unified;       /* on the v2 tree: kill and freeze, controllers or not */
	bool            v2[CG__COUNT]; /* the controller can be enabled below unified.dir */
	struct cg_place v1[CG__COUNT]; /* on its own v1 hierarchy */
	bool            own_leaf;      /* unified.dir is our own cgroup (delegated): move aside before enabling */
};

/* The cgroup below our own that we move into, because one that hands controllers on may hold no process. */
#define CG_LEAF "supervisor"

/* wanted: an operator's choice of place on the v2 tree, or "" to look for one. */
void cgfind(struct cg_found *, const char *wanted);

const char *cg_name(enum cg_controller);
