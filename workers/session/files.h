/*
 * A client's file requests, passed on to box-files, which does them inside the sandbox.
 *
 *	NONE -> UP -> GOING -> NONE
 *
 * It is started when the first request comes and ends some time after the last.  GOING: its
 * channel is closed and init's word of its end is awaited; requests that come
 * meanwhile wait for the next.
 */
#pragma once

#include <ev.h>
#include <sys/queue.h>

#include "wire/link.h"

struct worker;
struct file_call;

enum files_state { FILES_NONE, FILES_UP, FILES_GOING };

struct files {
	enum files_state state;
	int              program; /* owned; box-files */
	struct link     *link;    /* owned; UP: the channel to it */
	uint64_t         id;      /* of its spawn */
	int              slot;    /* its cgroup; -1 without */
	bool             ended;   /* init has said so: all that it answered is in the channel */
	bool             killed;  /* init was asked to kill it */
	uint64_t         oom_kills;
	char             why[ERR_TEXT]; /* what its end was, when it was not asked to go */
	TAILQ_HEAD(, file_call) calls;  /* owned; in the order they came, those sent first */
	size_t   ncalls, nsent;
	ev_timer timer; /* UP: idle, or an answer is due; GOING: init's word is */
};

void files_init(struct worker *, int program);
void files_clear(struct worker *);

/* Any FILE_ request. */
int files_request(struct worker *, struct msg *, struct err *);

/* A reply of init's: true when it was about box-files. */
bool files_result(struct worker *, struct msg *);

/* What an earlier worker left running is cancelled, and struck from the list. */
void files_adopt(struct worker *, struct msg_attached *);

/* Is there one inside now?  It is no process of the session's own. */
bool files_running(const struct worker *);

/* The sandbox ends: fail whoever waits, with the reason. */
void files_fail_all(struct worker *, const struct err *);
