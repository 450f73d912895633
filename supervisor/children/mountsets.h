/*
 * Mount namespaces of commands, kept for a while for the next that names the same mounts.  Where a command can change
 * nothing of what is mounted, one is as good as the other: as long as the same is mounted.
 */
#pragma once

#include <stdint.h>

struct ev_loop;

enum { MOUNTSET_KEY = 32 };

struct mountset {
	int   ns;      /* borrowed */
	char *sources; /* what is mounted in it, as the process that mounted it reported */
};

struct mountsets *mountsets_open(struct ev_loop *);
void              mountsets_close(struct mountsets **);

/* Of a session, by what was asked for; NULL: none.  It counts as used, and is good until the next call. */
const struct mountset *mountsets_find(struct mountsets *, uint64_t session, const uint8_t key[MOUNTSET_KEY]);

/* The namespace is duplicated.  Without memory nothing is kept. */
void mountsets_keep(struct mountsets *, uint64_t session, const uint8_t key[MOUNTSET_KEY], int ns, const char *sources);

/* All of a session's: its sandbox is another one, or gone. */
void mountsets_forget(struct mountsets *, uint64_t session);
