/*
 * When to start what has crashed again: soon at first, then ever more slowly; and
 * when to stop trying.  Pure: the caller has the clock and the timer.
 */
#pragma once

struct restart_policy {
	double   first_sec;  /* delay of the first restart */
	double   most_sec;   /* it doubles up to this */
	double   window_sec; /* crashes older than this are forgotten */
	unsigned limit;      /* give up after this many within the window.  0: never */
};

struct restart {
	double   opened; /* of the first crash in the present window */
	unsigned recent; /* crashes in it */
	double   delay;  /* used last */
};

/* It crashed now: seconds to wait before starting it again, or -1 to give up. */
double restart_after_crash(struct restart *, const struct restart_policy *, double now);
