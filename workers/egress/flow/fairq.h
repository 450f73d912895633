/*
 * Who may work next.  The sockets of all connections are watched here, edge-triggered: they are reported once when
 * something has changed, also of an error while nothing is wanted of them.  What was told is kept in the wire; the
 * connection it belongs to gets a turn.  Turns go around among the parties, which are the sessions, and within a party
 * among its connections, so that a session with a thousand busy ones gets no more than one with a single one.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"

struct fairq;
struct turn;

struct fairq_class {
	TAILQ_ENTRY(fairq_class) next;
	TAILQ_HEAD(, turn) waiting; /* the party waits while there is one */
};

struct turn {
	TAILQ_ENTRY(turn) next;
	struct fairq_class *class;
	bool waits;

	/* One piece of work; true: there is more.  It may end itself, and returns false then. */
	bool (*fn)(struct turn *);
};

/* A socket of what gets the turn.  It is not moved in memory while it is watched. */
struct wire {
	struct turn *turn;
	int          fd;   /* owned by who owns the wire; closing it ends the watch */
	uint32_t     seen; /* EPOLLIN and so on, since it was cleared */
};

struct fairq *fairq_open(struct ev_loop *, struct err *); /* NULL and the reason */
void          fairq_close(struct fairq **);

void fairq_class_init(struct fairq_class *);

int  fairq_watch(struct fairq *, struct wire *, struct err *);
void turn_soon(struct fairq *, struct turn *);

/* It does not wait any more. */
void turn_stop(struct fairq *, struct turn *);
