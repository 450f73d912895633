/*
 * boxctl doctor --attack: throw-away sessions, box-attack in them, and what only two parties can try.
 */
#pragma once

#include "args.h"
#include "attack/attack_exec.h"
#include "attack/attack_host.h"
#include "attack/attack_rows.h"
#include "interrupt.h"

/* Where box-attack is put inside. */
#define ATTACK_INSIDE "/tmp/box-attack"

enum { ATTACK_NAME = 48 };

struct attack {
	const struct args          *args;
	struct interrupt            interrupt;
	struct client               client, second; /* owned; the second is open while bombs go off */
	uint64_t                    deadline_ms;    /* of one attack */
	uint64_t                    touched_ms;     /* when the neighbour was last used */
	struct buf                  program;        /* owned; box-attack */
	struct attack_host          host;
	struct attack_rows          rows;
	char                        session[ATTACK_NAME], neighbour[ATTACK_NAME], bomb[ATTACK_NAME];
	bool                        has_memory_limit, has_uids; /* of the sessions: what some bombs need */
	struct msg                  created;                    /* the session's own answer; cleared at the end */
	const struct msg_isolation *isolation;                  /* in created */
};

/* The exit code; all that went wrong has been said. */
int attack_main(const struct args *);

/* Make a session with small limits and put box-attack into it.  *info: its answer, or NULL. */
int attack_session(struct attack *, struct client *, const char *name, struct msg *info, struct err *);

/* Gone when it returns 0, also when it never was. */
int attack_session_end(struct attack *, struct client *, const char *name, struct err *);

/* Run "true" in it: does it answer? */
int attack_answers(struct attack *, struct client *, const char *session, struct err *);

/* Every bomb of box-attack, one after the other, while the neighbour is asked. */
int attack_bombs(struct attack *, struct err *);

/* Does anything of our own environment or the daemon's appear inside? */
int attack_environment(struct attack *, uint64_t daemon_pid, struct err *);

/* Does boxd read what a command prints, when boxctl runs with a stream closed? */
int attack_streams(struct attack *, struct err *);
