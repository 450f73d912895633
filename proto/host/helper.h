/* The life of a helper that does nothing before the supervisor's first message, and ends with the link to it. */
#pragma once

#include <stdbool.h>

#include "host/startup.h"
#include "wire/link.h"

struct helper {
	/* What it is, given by main: the first message, what takes that one, and what takes all others. */
	enum msg_type start;
	int (*begin)(void *arg, struct msg *, struct err *);
	void (*take)(void *arg, struct msg *);
	void *arg;

	struct ev_loop *loop; /* owned */
	struct link    *link; /* owned */
	bool            begun;
	int             status; /* of the exit */
};

/* Make the loop and the link, and run until the link ends or begin fails. */
void helper_run(struct helper *);

/* All that stands on the loop and the link is closed before. */
void helper_close(struct helper *);
