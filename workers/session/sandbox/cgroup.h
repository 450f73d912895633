/*
 * The cgroups of one session: limits on the whole of it, and small ones for each
 * running command (a slot), so that a timeout finds exactly that command's processes
 * and a limit's victim is known.
 *
 *	v2 with controllers     limits and slots on one tree; init in a leaf beside the commands,
 *	                        because a cgroup that hands controllers on has no processes
 *	v1 and v2 side by side  limits on v1, slots on v1 and on the controller-less v2 tree
 *	no v2                   limits and slots on v1; init identifies commands by itself
 *
 * All commands together have the session's memory, and init a little beside it:
 *
 *	s<id>            memory + LIM_INIT_MB; init (v1), or its leaf s<id>/init (v2)
 *	s<id>/commands   memory
 *	s<id>/commands/x<slot>
 *
 * A command that has used all of it up cannot make the kernel choose init as the victim,
 * and init can still answer.
 *
 * All of it belongs to the worker's uid, which is not the sandbox's: an init that was taken
 * over cannot raise its own limits.  The few files that init must write (cgroup.procs,
 * cgroup.kill) have its group.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "host/cgfind.h"
#include "host/landlock.h"
#include "sandbox/ids.h"
#include "wire/msg.h"

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

/* Cgroups for one command at a time.  All descriptors are owned, and -1 without. */
struct cgroup_slot {
	enum slot_use use;
	bool          limited;         /* it has a memory limit of its own */
	int           dir;             /* v2 */
	int           events;          /* v2: is anybody in it, is it frozen */
	int           join[CG__COUNT]; /* v1 tasks files, for the newborn to write itself into */
	int           oom_file;        /* where the kernel counts */
	int           pids_file;
};

struct cgroup {
	char                name[32]; /* s<session id> */
	struct msg_cgroups  base;     /* where it was made; strings owned below */
	char               *paths[1 + CG__COUNT];
	int                 whole;           /* v2 directory of the session, owned; -1 without */
	int                 unified;         /* v2 directory of its commands, owned; -1 without */
	int                 leaf;            /* v2 with controllers: where init is; owned; -1 without */
	int                 v1[CG__COUNT];   /* v1 directories of its commands, owned; -1 without */
	int                 memory;          /* v1 directory of the session, owned; -1 without */
	int                 join[CG__COUNT]; /* v1 tasks files, open until the sandbox is started */
	int                 oom_file;        /* where the kernel counts; -1 without */
	int                 pids_file;
	bool                pids_shared; /* refused forks are counted for the session alone (v2 since Linux 6.11) */
	struct ids          ids;         /* whose they are: the worker's; and who root inside is */
	uint64_t            memory_mb;   /* of its commands */
	uint64_t            helpers;     /* processes of ours beside init */
	uint64_t            helpers_mb;  /* and their memory */
	struct cgroup_slot *slots;       /* owned */
	size_t              nslots;
	bool                sockets_counted;
};

/* Make the directories and set the limits. */
int cgroup_make(struct cgroup *, const struct msg_worker_start *, struct err *);

/* Set the limits of one that stands. */
int cgroup_limit(struct cgroup *, const struct msg_spec *, struct err *);

/* Open what another worker made; what is missing stays -1. */
int cgroup_reopen(struct cgroup *, const struct msg_worker_start *, struct err *);

/* As root: they are the worker's from now on, though a boxd before this one left them to root. */
int cgroup_take_all(const struct cgroup *, struct err *);

/* The v1 tasks files of the session, for a helper of ours to write itself into; -1 without v1. */
void cgroup_open_tasks(const struct cgroup *, int tasks[CG__COUNT]);
int  cgroup_join_tasks(const int tasks[CG__COUNT], struct err *);

/* Fork a helper of ours.  It is born in the session's v2 cgroup, beside init; it joins those of v1 itself, as above. */
pid_t cgroup_fork(const struct cgroup *, int *pidfd); /* may be NULL */

/* In a newborn child: move itself into the v1 cgroups. */
int cgroup_join(struct cgroup *, struct err *);

/* The child is started: nobody else joins that way.  What root opened takes any process. */
void cgroup_joined(struct cgroup *);

/* Init stands in its leaf: let the slots have controllers too. */
void cgroup_hand_on(struct cgroup *);

/* Limits enforced in the whole of it. */
struct cgroup_events cgroup_events(const struct cgroup *);

/* Processes in it now, init and helpers of ours not counted. */
uint64_t cgroup_population(const struct cgroup *);

/* SIGKILL to all of it at once, where the kernel can. */
void cgroup_kill(struct cgroup *);

/*
 * Remove the directories: 0 all gone, 1 still busy (try again), -1 failed.  Those of the session itself are in root's:
 * without them 0 means that nothing is in them any more.
 */
int cgroup_remove(struct cgroup *, bool whole, struct err *);

/* Let a worker that may open nothing else go on with them. */
int cgroup_allow(const struct cgroup *, const struct landlock_rules *, struct err *);

/* Close descriptors, free memory; the directories stay. */
void cgroup_clear(struct cgroup *);

/* ---- cgroup_slot.c: a place for each command ---- */

/* Where there is nothing to put a command into, commands have no slots. */
bool cgroup_has_slots(const struct cgroup *);

/* Have a slot ready before it is asked for. */
void cgroup_slot_prepare(struct cgroup *);

/* A free slot's index, without a limit of its own; -1 and the reason.  Only where there are slots. */
int  cgroup_slot_take(struct cgroup *, struct err *);
void cgroup_slot_done(struct cgroup *, int slot, bool killed);

/* Taken by a command that another worker started; false: there is no such slot. */
bool cgroup_slot_retake(struct cgroup *, int slot);

/* What a SPAWN must carry for a command to be born in this slot (-1: none). */
void cgroup_slot_spawn(const struct cgroup *, int slot, struct msg_spawn *);

/*
 * Memory of this slot's command alone, within the session's; 0: no limit of its own.
 * It is dropped when the slot is taken again.  -1 where memory is not limited by cgroups.
 */
int cgroup_slot_limit(struct cgroup *, int slot, uint64_t memory_mb);

/* Limits enforced against this slot's command; of one without a slot, in the whole session. */
struct cgroup_events cgroup_slot_events(const struct cgroup *, int slot);

/* Open the slots another worker made; as cgroup_take_all. */
int cgroup_slots_reopen(struct cgroup *, struct err *);
int cgroup_slots_take(const struct cgroup *, struct err *);

/* As cgroup_remove and cgroup_clear. */
int  cgroup_slots_remove(struct cgroup *, struct err *);
void cgroup_slots_clear(struct cgroup *);

/* ---- cgroup_freeze.c: all commands stop where they are, and go on ---- */

/* -1 and the reason where nothing can be frozen. */
int cgroup_can_freeze(const struct cgroup *, struct err *);
int cgroup_freeze(struct cgroup *, struct err *);

/* Have all of them stopped? */
bool cgroup_is_frozen(const struct cgroup *);
void cgroup_thaw(struct cgroup *);

/* What is frozen by v1 cannot die: let this slot's command go on, to be killed. */
void cgroup_slot_let_die(struct cgroup *, int slot);

/* ---- small hands of the three files ---- */

int      cgroup_write(int dir, const char *file, const char *text);
bool     cgroup_read(int dir, const char *file, char *text, size_t size);
uint64_t cgroup_counter(int fd, const char *key);
int      cgroup_limit_memory(const struct cgroup *, int dir, uint64_t bytes, struct err *);
uint64_t cgroup_socket_bytes(uint64_t memory_bytes); /* that the sockets of a session may hold */
void     cgroup_count_sockets(int memory, const char *slot);
int      cgroup_give_to_init(const struct cgroup *, int dir, const char *file, struct err *);
int      cgroup_take(const struct cgroup *, int dir, struct err *);
uint64_t cgroup_count_lines(int dir, const char *file);
uint64_t cgroup_slot_population(const struct cgroup *, size_t slot);

enum { CGROUP_NAME = 32 };
void cgroup_slot_file(char out[CGROUP_NAME + 32], size_t slot, const char *file); /* below a session's v1 directory */
