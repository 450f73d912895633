/*
 * Who failed how often at LangBot's door, by address: each failure of the same one waits twice as long for its
 * answer.  The clock is the caller's.
 */
#ifndef SUPERVISOR_DOOR_SLOW_H
#define SUPERVISOR_DOOR_SLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "listen.h"

enum {
	SLOW_ADDRESSES = 256, /* remembered; more push out the one that has been quiet for longest */
	SLOW_WAITING = 16,    /* answers of one address that wait: more would take others' places at the door */
	SLOW_LINES = 10,      /* of the log, in a minute */
};

#define SLOW_FIRST_SEC 0.1
#define SLOW_MOST_SEC 5.0
#define SLOW_PEACE_SEC 60.0 /* without a failure it is forgotten */

struct slow_address {
	unsigned char net[ADDRESS_NET];
	double        last; /* failure; 0: the row is free */
	double        delay;
	unsigned      waiting;
};

struct slow {
	struct slow_address rows[SLOW_ADDRESSES];
	double              lines_since; /* the present minute of the log began */
	unsigned            lines;       /* written in it */
	uint64_t            unsaid;      /* and not written */
};

/* It failed: how long its answer waits.  Not 0: slow_answered is due. */
double slow_failed(struct slow *, const struct address *, double now);
void   slow_answered(struct slow *, const struct address *);

/* May a line be written?  *unsaid: so many were not since the last that was. */
bool slow_may_log(struct slow *, double now, uint64_t *unsaid);

#endif
