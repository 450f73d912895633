/*
 * One command from its SPAWN to the end of its last pipe.  Shared by exec.c, which
 * is one of them, and execs.c, which is all of them.
 */
#pragma once

#include <sys/queue.h>

#include "feed.h"
#include "pump.h"
#include "spawn.h"
#include "tree.h"
#include "wire/msg.h"

enum exec_state {
	EXEC_RUNNING,
	EXEC_LEAVING,  /* managed: told to end, and it did; others of its group have their time */
	EXEC_KILLING,  /* its time is up or it was cancelled; its tree is being killed */
	EXEC_DRAINING, /* it has exited; what it wrote is still in the pipes */
	EXEC_ENDED,    /* its result is known, and is sent to every master */
	EXEC_RELEASED, /* its result was passed on; background children may still hold its pipes */
	EXEC_GONE,     /* nothing holds them any more: to be freed */
};

TAILQ_HEAD(exec_queue, exec);

/* Where execs stand; each is in one of the first three, by its state. */
struct exec_lists {
	struct exec_queue known; /* up to ENDED */
	struct exec_queue released;
	struct exec_queue gone;
	struct exec_queue todo; /* known ones that may have something for the master */
};

struct exec {
	TAILQ_ENTRY(exec) link;
	TAILQ_ENTRY(exec) todo;
	struct exec_lists *lists;
	bool               queued; /* is in todo */

	uint64_t        id;
	enum exec_state state;
	struct tree     tree;
	int64_t         slot;       /* the worker's name for its cgroups */
	struct pump     streams[2]; /* by enum stream */
	bool            streamed;
	bool            detached; /* streamed, but nobody listens */
	bool            managed;
	pid_t           pid;    /* 0 once reaped */
	int             status; /* as waitpid says it */
	int64_t         started_ns;
	int64_t         wake_ns;   /* when exec_tick is due */
	bool            reply_due; /* the current master has not been told the result */

	/* managed */
	struct feed in;
	struct buf  about;      /* owned; for the next master */
	bool        terminated; /* told to end; wake_ns is the end of its grace */
	pid_t       group;      /* its first process's pid */
	uint64_t    reported;   /* dropped bytes of standard output that its standard error reports */
	uint64_t    started_ms; /* since the epoch */
	uint64_t    ended_ms;

	/* the result */
	enum cause cause;
	int        exit_code;
	uint64_t   duration_us;
	uint64_t   bytes[2];
	char      *error; /* owned; NULL: none */
};

/*
 * Start a command.  A command that could not be started is one that has ended:
 * the result says so.  NULL only when there is no memory for the record.  It goes
 * on with the output of `before`, if that is not NULL.
 */
struct exec *exec_open(uint64_t id, struct loop *, const struct spawner *, struct msg *, struct exec_lists *,
    struct exec                *before, struct err *);

/* Its foreground process has been reaped. */
void exec_exited(struct exec *, int status);

/* Kill its tree, for this reason.  False when it had ended by itself. */
bool exec_kill(struct exec *, enum cause);

/* Its time has come, or something died while it was being killed. */
void exec_tick(struct exec *);

/* Nobody listens to what it streams. */
void exec_detach(struct exec *);

/* Something may be due to the master. */
void exec_touch(struct exec *);

/* The next message for the master: 1 encoded, 0 none, -1 not now. */
int exec_next(struct exec *, struct packet *, struct err *);

/* The result as it stands, borrowing from the exec. */
void exec_result(const struct exec *, struct msg_exec_result *);

/* ---- managed.c ---- */

/* Its pipe, and what stays of the one it continues. */
int  managed_start(struct exec *, struct loop *, const struct msg_spawn *, int *theirs, struct err *);
void managed_inherit(struct exec *, struct exec *before);

int  managed_remember(struct exec *, const struct blob *, struct err *);
int  managed_feed(struct exec *, uint64_t request, const struct msg_feed *, struct err *);
int  managed_follow(struct exec *, const struct msg_follow *, struct msg_followed *, struct err *);
int  managed_terminate(struct exec *, uint64_t grace_ms, struct err *);
bool managed_group_lives(const struct exec *);

/* bytes: what *out borrows besides the exec; to be cleared. */
void managed_look(const struct exec *, const struct msg_look *, struct msg_managed *out, struct buf bytes[2]);

/* An answer that is due for its standard input: 1 encoded, 0 none, -1 not now. */
int managed_next(struct exec *, struct packet *, struct err *);

/* Let go of the result and its bytes.  What still holds its pipes is served on, unlisted. */
void exec_release(struct exec *);

/* Of one that is gone. */
void exec_free(struct exec *);
