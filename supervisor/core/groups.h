/*
 * Sessions by group, and what they have together: counted as each comes, changes and goes, so that a request need
 * not walk over all sessions to learn how many there are of a workspace.  A group is known by the text that its
 * sessions' names have in common; which groups a name is of, its caller says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"

enum group_sum_of {
	SESSIONS,
	OPEN_SESSIONS,
	STARTING_SESSIONS,
	PROCESSES,
	OPEN_PROCESSES,
	ENDED_PROCESSES,
	GROUP_SUMS
};

/* OPEN: of sessions that are not closing. */
struct group_sum {
	uint64_t n[GROUP_SUMS];
};

struct group_key {
	const char *text; /* not terminated */
	size_t      len;
};

enum { GROUPS_MOST = 5 };

struct session_group;

/* A session's part in it, which is part of the session. */
struct group_entry {
	struct membership {
		TAILQ_ENTRY(membership) next;
		struct session_group *group; /* held */
		struct session       *session;
	} in[GROUPS_MOST];
	size_t           n;
	bool             counted;
	struct group_sum had; /* as it was counted last */
};

struct groups *groups_open(struct err *);
void           groups_close(struct groups **);

/* Make sure of its groups; -1 without memory.  From then on it can be counted without fail. */
int group_hold(struct groups *, struct group_entry *, struct session *, const struct group_key *, size_t n);

/* Count it as this: when it comes, and after every change. */
void group_count(struct group_entry *, const struct group_sum *);

/* It goes, if it was counted, and its groups are let go of. */
void group_leave(struct group_entry *);

/* Nothing, where there is no such group. */
struct group_sum groups_sum(const struct groups *, struct group_key);

/* The sessions that are counted in it, oldest first; stops when fn returns false. */
void groups_each(const struct groups *, struct group_key, bool (*fn)(struct session *, void *), void *arg);
