/*
 * What this machine lets us do, found out by doing it.  Each probe runs in a
 * child of its own with a deadline and leaves nothing behind: no mount,
 * directory, process, loop device or cgroup.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "host/cgfind.h"
#include "host/walls.h"
#include "wire/msg.h"

enum probe_state { PROBE_WORKS, PROBE_MISSING, PROBE_UNKNOWN };

struct probe {
	const char      *name;
	const char      *gives;    /* what boxd does with it */
	bool             required; /* without it there is no sandbox at all */
	enum probe_state state;
	char             why[256];    /* missing: the barrier; works: how, if there is a choice */
	char             remedy[256]; /* missing: what to do about it, or "" */
};

size_t      probe_count(void);
void        probe_run(size_t i, struct probe *out);
const char *probe_state_name(enum probe_state);

/*
 * Can this process make all the namespaces of a sandbox at once, and mount in
 * them?  -1: E_BACKEND, with the exact barrier and its remedy.
 */
int probe_userns(struct err *);

/* The tier of isolation that follows, as struct msg_isolation reports it. */
struct walls {
	enum tier tier;
	char      uids[64];
	char      limits[128];
	char      kill[128];
	bool      in_force[WALL__COUNT];     /* those of a session: never, they are not the machine's */
	char      missing[WALL__COUNT][560]; /* the wall that is not there, why, and the remedy */
};

/* Where the pointers of a struct msg_isolation go. */
struct wall_lists {
	const char *in_force[WALL__COUNT + 1];
	const char *missing[WALL__COUNT + 1];
};

void probe_walls(struct walls *, const struct cg_found *);

/* The same, borrowed from both. */
struct msg_isolation walls_isolation(const struct walls *, struct wall_lists *);

/* -1: E_BACKEND, naming the wall, why it is not there and the remedy.  A session's own walls are not judged here. */
int walls_require(const struct walls *, enum wall, struct err *);
