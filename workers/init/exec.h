/*
 * One command from its SPAWN to the end of its last pipe.  Shared by exec.c, which
 * is one of them, and execs.c, which is all of them.
 */
#ifndef INIT_EXEC_H
#define INIT_EXEC_H

#include <sys/queue.h>

#include "msg.h"
#include "pump.h"
#include "spawn.h"
#include "tree.h"

enum exec_state {
	EXEC_RUNNING,
	EXEC_KILLING,  /* its time is up or it was cancelled; its tree is being killed */
	EXEC_DRAINING, /* it has exited; what it wrote is still in the pipes */
	EXEC_ENDED,    /* its result stands, and is told to every master */
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
	pid_t           pid;      /* 0 once reaped */
	int             status;   /* as waitpid says it */
	int64_t         started_ns;
	int64_t         wake_ns;   /* when exec_tick is due */
	bool            reply_due; /* the current master has not been told the result */

	/* the result */
	enum cause cause;
	int        exit_code;
	uint64_t   duration_us;
	uint64_t   bytes[2];
	char      *error; /* owned; NULL: none */
};

/*
 * Start a command.  A command that could not be started is one that has ended:
 * the result says so.  NULL only when there is no memory for the record.
 */
struct exec *exec_open(
    uint64_t id, struct loop *, const struct spawner *, struct msg *, struct exec_lists *, struct err *);

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

/* Let go of the result and its bytes.  What still holds its pipes is served on, unlisted. */
void exec_release(struct exec *);

/* Of one that is gone. */
void exec_free(struct exec *);

#endif
