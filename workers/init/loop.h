/*
 * The smallest event loop that serves: descriptors by epoll, one deadline per
 * turn.  Nothing here allocates; a source is embedded in what it wakes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define NEVER INT64_MAX

struct source {
	int      fd;     /* owned by whoever embeds the source; -1 when closed */
	uint32_t events; /* what it is polled for; 0: not at all */
	void (*ready)(struct source *, uint32_t events);
};

struct loop {
	int epoll; /* owned */
};

int loop_open(struct loop *, struct err *);

/* Poll the source for these events from now on; 0 stops polling it altogether. */
int loop_watch(struct loop *, struct source *, uint32_t events, struct err *);

/* Stop polling, close the descriptor, leave -1.  The source may still get a call that was already due. */
void loop_close(struct loop *, struct source *);

/* Wait until something is ready or the time has come, and call what is ready. */
void loop_turn(struct loop *, int64_t until_ns);

/* CLOCK_MONOTONIC. */
int64_t now_ns(void);
