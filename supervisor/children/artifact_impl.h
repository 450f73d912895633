/* What artifact.c (who wants copies, and box-artifact that makes them) and artifact_cache.c (the copies there are) share. */
#pragma once

#include <ev.h>
#include <sys/queue.h>

#include "children/artifact.h"
#include "langbot/tenancy.h"
#include "wire/digest.h"

struct child;
struct job;

/* The cache of one workspace.  What is being made counts from the moment its size is known. */
struct shelf {
	char     ns[NAMESPACE_LEN + 1];
	size_t   n; /* revisions */
	uint64_t bytes, entries;
	bool     busy;    /* a copy is being made */
	size_t   waiting; /* copies that wait for that */
};

/* One copy. */
struct revision {
	TAILQ_ENTRY(revision) next;
	struct shelf *shelf;
	char          digits[DIGEST_DIGITS + 1];
	uint64_t      number; /* rises with each copy that is made */
	uint64_t      bytes, entries;
	uint64_t      holds;
	uint64_t      used_sec; /* since the epoch, from the time of its directory */
	bool          dropping; /* while room is looked for */
};

TAILQ_HEAD(revisions, revision);
TAILQ_HEAD(jobs, job);

struct artifacts {
	struct boxd     *boxd;
	int              dir, staging, trash; /* owned */
	void            *shelves;             /* owned struct shelf, by ns */
	void            *by_digits;           /* the revisions below */
	struct revisions by_use;              /* owned; used longest ago first */
	uint64_t         bytes;               /* of all shelves */
	struct jobs      waiting, running;    /* owned */
	size_t           n_waiting, n_running;
	ev_timer         start_timer; /* runs when jobs may start */
	struct child    *sweeper;     /* owned; NULL: none */
	bool             sweep_again; /* more was dropped meanwhile */
};

/* ---- artifact_cache.c ---- */

int  cache_open(struct artifacts *, struct err *);
void cache_close(struct artifacts *);

/* Of a session's workspace, new if need be; NULL: no memory. */
struct shelf *cache_shelf(struct artifacts *, const char *session);

/* NULL: it is not in the cache.  cache_use: it counts as used now. */
struct revision *cache_find(const struct artifacts *, const struct shelf *, const char *digits);
void             cache_use(struct artifacts *, struct revision *);

/* Room for one of this size; -1: all that could be dropped for it is held.  What was reserved is published or given back. */
int  cache_reserve(struct artifacts *, struct shelf *, uint64_t bytes, uint64_t entries, struct err *);
void cache_give_back(struct artifacts *, struct shelf *, uint64_t bytes, uint64_t entries);

/* A directory for a copy by this number; it becomes a revision, or is removed. */
int  cache_stage(const struct artifacts *, uint64_t number, struct err *);
int  cache_publish(struct artifacts *, struct shelf *, const char *digits, uint64_t number, uint64_t bytes,
     uint64_t entries, struct err *);
void cache_unstage(struct artifacts *, uint64_t number);

/* ---- artifact.c ---- */

/* There is something in the trash. */
void artifacts_sweep(struct artifacts *);
