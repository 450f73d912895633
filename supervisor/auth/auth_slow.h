/*
 * Failed attempts at LangBot's door, by address: each failure of an address waits twice as long for its answer as the
 * one before.  The caller passes the time.
 */
#pragma once

#include "auth/listen.h"

enum {
	SLOW_ADDRESSES = 256, /* remembered; more push out the one that has been quiet for longest */
};

#define SLOW_FIRST_SEC 0.1
#define SLOW_MOST_SEC 5.0
#define SLOW_PEACE_SEC 60.0 /* without a failure it is forgotten */

struct slow_address {
	unsigned char net[ADDRESS_NET];
	double        last; /* failure; 0: the row is free */
	double        delay;
};

struct slow {
	struct slow_address rows[SLOW_ADDRESSES];
};

/* An attempt failed: how long its answer waits, in seconds.  Every failure waits; the gateway bounds their number. */
double slow_failed(struct slow *, const struct address *, double now);
