/*
 * The cgroups of one session: limits on the whole of it, and one small v2 cgroup per
 * running command, so that a timeout finds exactly that command's processes.
 *
 *	v2 with controllers   limits and commands on one tree
 *	v1 and v2 side by side  limits on v1, commands on the controller-less v2 tree
 *	no v2                 limits on v1 only; init tells commands apart by itself
 */
#ifndef SESSION_CGROUP_H
#define SESSION_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgfind.h"
#include "err.h"
#include "msg.h"

/* How often the kernel had to enforce a limit. */
struct cgroup_events {
	uint64_t oom_kills;
	uint64_t pids_refused;
};

enum slot_use {
	SLOT_FREE,  /* empty, may be used */
	SLOT_BUSY,  /* a command is running in it */
	SLOT_CHECK, /* its command has ended; background processes may be left */
	SLOT_SPENT, /* cgroup.kill was used on it: whoever is cloned into it later dies too */
};

/* A cgroup for one command at a time. */
struct cgroup_slot {
	int           dir; /* owned */
	enum slot_use use;
};

struct cgroup {
	char                name[32]; /* s<session id> */
	struct msg_cgroups  base;     /* where it was made; strings owned below */
	char               *paths[1 + CG__COUNT];
	int                 unified;           /* v2 directory, owned; -1 without */
	int                 limits[CG__COUNT]; /* v1 directories, owned; -1 without */
	int                 join[CG__COUNT];   /* v1 tasks files, open until the sandbox is started */
	int                 oom_file;          /* where the kernel counts; -1 without */
	int                 pids_file;
	uint32_t            owner; /* host uid of root inside */
	struct cgroup_slot *slots; /* owned */
	size_t              nslots;
};

/* Make the directories and set the limits. */
int cgroup_make(struct cgroup *, const struct msg_worker_start *, struct err *);

/* Set the limits of one that stands. */
int cgroup_limit(struct cgroup *, const struct msg_spec *, struct err *);

/* Open what another worker made; what is missing stays -1. */
int cgroup_reopen(struct cgroup *, const struct msg_worker_start *, struct err *);

/* In a newborn child: move itself into the v1 cgroups. */
int cgroup_join(struct cgroup *, struct err *);

/* Have a slot ready before it is asked for. */
void cgroup_slot_prepare(struct cgroup *);

/* A free slot's index; -1 and the reason.  Only where unified >= 0. */
int  cgroup_slot_take(struct cgroup *, struct err *);
void cgroup_slot_done(struct cgroup *, int slot, bool killed);

struct cgroup_events cgroup_events(const struct cgroup *);

/* Processes in it now, init not counted. */
uint64_t cgroup_population(const struct cgroup *);

/* SIGKILL to all of it at once, where the kernel can. */
void cgroup_kill(struct cgroup *);

/* Remove the directories: 0 all gone, 1 still busy (try again), -1 failed. */
int cgroup_remove(struct cgroup *, struct err *);

/* Close descriptors, free memory; the directories stay. */
void cgroup_clear(struct cgroup *);

#endif
