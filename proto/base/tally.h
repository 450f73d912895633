/*
 * Log lines that a peer can cause as often as it likes.  The first few have lines of their own; the rest are counted
 * by reason, and while more come one line per period says how many.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	TALLY_LINES = 5,   /* with a line of their own, after a period of peace */
	TALLY_REASONS = 8, /* counted apart; more are counted together */
};

#define TALLY_SEC 10.0

struct tally {
	struct ev_loop *loop;
	const char     *what; /* a string constant, as are the reasons */
	unsigned        lines;
	struct {
		const char *reason;
		uint64_t    n;
	} rows[TALLY_REASONS + 1]; /* the last: all others */
	ev_timer period;           /* runs from the first event until a period without one that was only counted */
};

/* what: "clients were refused". */
void tally_init(struct tally *, struct ev_loop *, const char *what);

/* Says what is counted. */
void tally_clear(struct tally *);

/* May this event have a line of its own?  If not it is counted. */
bool tally_line(struct tally *, const char *reason);
