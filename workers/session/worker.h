/*
 * A session worker: one sandbox, its commands, and two channels, to the supervisor
 * above and to init below.
 *
 *	WAITING -> BUILDING ------> READY -> CLOSING -> CLOSED
 *	        \> ATTACHING ----/    |        /
 *	        \> BROKEN <----------/--------/    (only CLOSE is welcome)
 *
 * It serves one session and then exits.  When the supervisor goes, it exits at
 * once and leaves the sandbox to init, which waits for the next master.
 */
#pragma once

#include <ev.h>
#include <sys/queue.h>

#include "disk/disk.h"
#include "disk/watch.h"
#include "files.h"
#include "sandbox/cgroup.h"
#include "sandbox/mounts.h"
#include "sandbox/sandbox.h"
#include "wire/owned_msg.h"
#include "wire/link.h"

enum worker_state { WAITING, BUILDING, ATTACHING, READY, BROKEN, CLOSING, CLOSED, WORKER_STATES };

enum pause_state { RUNNING, ASKED, FREEZING, PAUSED };

/* Ids of what we ask init for ourselves; the supervisor's come from its clock and are far above. */
enum { PULSE_PING = 1, PAUSE_PING = 2, QUOTA_KILL = 3 };

struct exec;
struct processes;

struct worker {
	struct ev_loop    *loop;
	enum worker_state  state;
	struct link       *up;   /* owned; the supervisor */
	struct link       *down; /* owned; init, NULL without */
	struct sandbox     box;  /* pid 0 without */
	struct cgroup      cgroup;
	bool               has_cgroup;
	struct disk        disk;
	struct mounts      mounts;
	struct net_sockets net;   /* owned; from init, until the supervisor has them */
	struct watch      *watch; /* owned; NULL unless the workspace has a quota that no kernel keeps */
	struct {
		uint64_t call;
		int      mounts; /* owned */
	} next;                  /* what comes ahead of an exec: its mount namespace */
	uint64_t started_us;     /* for build_us */
	ev_timer deadline;       /* runs while BUILDING, ATTACHING */
	ev_timer retry;          /* runs while the cgroups will not go */
	ev_io    init_exit;      /* init's pidfd, runs while there is one */
	LIST_HEAD(, exec) execs; /* owned; each ends in exactly one reply */
	ev_timer          pulse; /* runs while there are execs or processes: is init alive? */
	bool              asked; /* and has not answered yet */
	enum pause_state  pause;
	uint64_t          pause_id; /* the request to answer when all have stopped */
	double            pause_until;
	ev_timer          pause_look; /* runs while ASKED, FREEZING */
	uint64_t          close_id;   /* the request to answer when all is gone */
	uint64_t          killed;
	double            close_until; /* give up removing then */
	struct processes *processes;   /* owned; NULL until there was one */
	uint64_t          process_retention_sec, process_retained;

	struct files files; /* requests for box-files, and itself */

	int  calls;              /* owned; seccomp program for ourselves, until it is loaded */
	char root[LIM_PATH + 1]; /* empty directory to be locked into; "" without */
	bool confined;           /* rights are given up, or are being */

	/* from WORKER_START, for the state file */
	struct msg_session_state about; /* its spec borrows from the next */
	struct owned_msg         spec_kept;
	char                     name[LIM_NAME + 1];
};

void worker_open(struct worker *, struct ev_loop *);
void worker_close(struct worker *);

/* Every message of both channels comes here. */
void worker_deliver(struct worker *, struct msg *);

/* The sandbox cannot be made, or is dead: tell, and wait for CLOSE. */
void worker_broken(struct worker *, const struct err *);

/* ---- build.c: how a sandbox comes to be, or is found again ---- */
int build_start(struct worker *, struct msg *, struct err *);
int build_attach(struct worker *, struct msg *, struct err *);
/* The init that the state file names, if it still is that process; 1 if not. */
int build_find_init(struct worker *, struct err *);

int build_find_leftovers(struct worker *, struct msg *, struct err *);
int build_reopen(struct worker *, struct msg *, struct err *);
int build_attached(struct worker *, struct msg *, struct err *);
int build_attached_all(struct worker *, struct err *);
int build_done(struct worker *, struct msg *, struct err *);
int build_claim(struct worker *, const struct msg_claim *, struct err *);

/* ---- teardown.c: how it goes ---- */
void teardown_start(struct worker *, uint64_t request);
void teardown_init_gone(struct worker *);

/* ---- exec.c: commands ---- */
int  exec_start(struct worker *, struct msg *, int mounts, struct err *);
int  exec_cancel(struct worker *, struct msg *, struct err *);
void exec_match(struct worker *, const struct msg_attached *);
void exec_resume(struct worker *, uint64_t id);
void exec_result(struct worker *, struct msg *);
int  exec_output(struct worker *, const struct msg_output *, struct err *);
int  exec_ack(struct worker *, const struct msg_output_ack *, struct err *);
int  exec_detach(struct worker *, const struct msg_detach *, struct err *);
bool exec_running(const struct worker *);

/* The quota of the workspace: kill every command for it; a result that waited for its measure. */
void exec_kill_all(struct worker *, const struct err *why);
void exec_measured(struct worker *, uint64_t id, const struct err *over);
void exec_fail_all(struct worker *, const struct err *);

/* Those not ended, by id; how many were listed. */
size_t exec_list(const struct worker *, struct msg_resume *, size_t most);

/* Init is asked whether it lives while anything depends on it. */
void pulse_update(struct worker *);

/* The environment of what runs inside: the base and these; see exec.c. */
int env_check(const struct pairs *, const char *field, struct err *);
int env_build(const struct pairs *, struct buf *text, struct strs *out);

/* ---- process.c: managed processes ---- */
int processes_start(struct worker *, struct msg *, struct err *);
int processes_get(struct worker *, struct msg *, struct err *);
int processes_list(struct worker *, struct msg *, struct err *);
int processes_stop(struct worker *, struct msg *, struct err *);
int processes_write(struct worker *, struct msg *, struct err *);
int processes_attach(struct worker *, struct msg *, struct err *);

/* From init, or about an attachment; false: it is not a process's. */
bool processes_reply(struct worker *, struct msg *);
bool processes_output(struct worker *, const struct msg_output *);
bool processes_ack(struct worker *, const struct msg_output_ack *);
bool processes_detach(struct worker *, uint64_t call);

/* Find those of the worker before us again: first who follows them, then what init has. */
int  processes_expect(struct worker *, const struct msg_worker_start *, struct err *);
int  processes_adopt(struct worker *, const struct msg_attached *, struct err *);
bool processes_adopted(const struct worker *);

/* How many have not ended for good. */
size_t processes_live(const struct worker *);

/* Fail all requests that wait for one, with the reason, and forget all of them; init gets no message. */
void processes_close(struct worker *, const struct err *);

/* ---- pause.c ---- */
int  pause_start(struct worker *, struct msg *, struct err *);
int  pause_end(struct worker *, struct msg *, struct err *);
void pause_init_answered(struct worker *);
void pause_adopt(struct worker *);
void pause_close(struct worker *);

/* ---- confine.c ---- */

/* Give up all that a standing sandbox does not take.  After -1 the worker must not serve. */
int confine(struct worker *, struct err *);
