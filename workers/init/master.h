/*
 * The one connection that commands init: at first the channel it was
 * started with, then whoever connects to the listening socket last.
 */
#pragma once

#include "execs.h"

struct master;

/* Sockets of a network that is on: kept, and handed to every master.  -1: none. */
struct net_sockets {
	int listener, dns, refusals;
};

/* Takes both descriptors.  NULL and the reason. */
struct master *master_open(struct loop *, struct execs *, int listener, int first, const struct net_sockets *,
    int64_t orphan_ns, struct err *);

/* Tell it that we are there. */
int master_greet(struct master *, struct err *);

/* Send what is due, as far as it reads: once per turn of the loop. */
void master_flush(struct master *);

/* Nobody has been connected for too long. */
bool master_is_missing(const struct master *);

/* When the next turn is due at the latest. */
int64_t master_wake(const struct master *);

/* Give back the memory that only a busy channel needs. */
void master_rest(struct master *);
