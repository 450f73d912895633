/*
 * A box-init and what its master has heard of it: the words in which t/part/init.c says
 * what it expects.
 */
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "wire/chan.h"

enum { CALLS = 4096 };

/* What has been heard about one request. */
struct call {
	bool                   replied;
	bool                   failed;
	struct err             error;
	struct msg_exec_result r; /* its pointers are dead; see out and err */
	struct buf             out[2];
	uint64_t               at[2]; /* offset behind the last streamed byte */
	bool                   gap;
	char                   text[1024]; /* r.error */
	int                    cgroup;
};

struct box {
	bool              by_cgroup;
	pid_t             pid; /* of the outer process: ends with init */
	int               chan;
	char              path[64];
	struct chan_in    in;
	bool              ready, failed, gone;
	char              reason[1024];
	bool              no_acks;
	uint64_t          next;
	uint64_t          attach; /* request id of an ATTACH under way */
	size_t            nknown;
	struct msg_resume known[16];
	struct call       calls[CALLS];
};

struct opts {
	uint64_t           timeout_ms, keep, window;
	const char        *workdir;
	const char *const *argv;
	int                in; /* 0: none */
	bool               no_cgroup;
};

/* Set by main. */
extern const char *box_program;
extern char        box_self[PATH_MAX];    /* this test, for commands that misbehave */
extern char        box_dir[];             /* a template for mkdtemp */
extern char        box_cgroups[PATH_MAX]; /* a temporary directory on the v2 tree, or "" */

/* mode: cgroup or mark */
struct box *box_start(const char *mode, const char *orphan_ms);

/* Wait until the outer process, and so init, is gone; its status. */
int box_end(struct box *);

void send_msg(struct box *, enum msg_type, uint64_t id, const void *body);
void ack(struct box *, uint64_t id, enum stream);

/* Wait for one message and take note of it. */
void listen_once(struct box *);

/* A command by sh -c, or what opts say; its id. */
uint64_t start(struct box *, const char *script, struct opts);
uint64_t start_as(struct box *, uint64_t id, const char *script, const struct opts *);
uint64_t start_self(struct box *, const char *what, const char *arg, struct opts);

/* Its result; and release it; or only so many bytes of its output. */
struct call *await(struct box *, uint64_t id);
struct call *finish(struct box *, uint64_t id);
void         await_bytes(struct box *, uint64_t id, size_t);
void         release(struct box *, uint64_t id);

/* The answer to a cancel. */
struct call *cancel(struct box *, uint64_t exec);

void reconnect(struct box *);
void attach(struct box *, struct msg_resume *, size_t n);
