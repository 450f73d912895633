/* Between the files of this room. */
#pragma once

#include <sys/queue.h>

#include "base/tally.h"
#include "auth/auth.h"
#include "auth/auth_slow.h"

/* Names of a list, one by one. */
struct names {
	struct strs strs; /* owned array; points into text */
	char       *text; /* owned */
};

LIST_HEAD(attempts, attempt);

struct auth {
	struct boxd    *boxd;
	int             listener; /* owned; -1: not configured */
	char            address[ADDRESS_TEXT];
	struct token    token;
	struct buf      certificate, key; /* owned */
	struct names    origins, hosts;
	char            instance[INSTANCE_LEN + 1]; /* trusted; empty: none yet */
	bool            configured;                 /* and that is so for ever */
	struct slow     slow;
	struct attempts attempts; /* owned; not answered yet */
	uint64_t        refused;
	struct tally    refusals; /* the same, for the log */
};

/* Trust this instance, if no other is trusted.  Is it trusted now? */
bool auth_trust(struct auth *, const char *instance);

void attempts_clear(struct attempts *);
