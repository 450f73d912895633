/* Bytes of one connection, one way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PUMP_BUFFER = 256 * 1024, /* of all pumps together: they use it one after the other */
	PUMP_TURN = 256 * 1024,   /* bytes in one go, so that others get theirs */
	GATE_LEAST = 32 * 1024,   /* minimum of bytes that a gate gets to see, if that many come */
};

/* Decides about bytes before they pass. */
struct gate {
	/* How many of these may pass now; 0: none before more has come; -1: cut the connection. */
	ssize_t (*look)(void *arg, const char *bytes, size_t n);

	/* So many of them were passed. */
	void (*passed)(void *arg, const char *bytes, size_t n, size_t passed);
};

struct pump {
	int      from, to; /* borrowed; they do not block */
	bool     readable; /* as far as is known: cleared when the kernel says no */
	bool     writable;
	bool     last;  /* no more will come than what waits in from: its end can be read there */
	bool     ended; /* the end was passed on */
	uint32_t reach; /* bytes that are worth looking at */
	uint64_t bytes; /* that it has moved */

	const struct gate *gate; /* NULL: everything passes */
	void              *arg;  /* of the gate */
};

enum pumped {
	PUMP_WAITS, /* for one of its sockets, or it has ended */
	PUMP_AGAIN, /* it had its turn, and could go on */
	PUMP_FAILED,
	PUMP_CUT, /* by its gate */
};

void pump_init(struct pump *, int from, int to);

/* At most one turn; buffer has PUMP_BUFFER bytes. */
enum pumped pump_run(struct pump *, char *buffer);
