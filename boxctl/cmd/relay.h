/*
 * Our standard input and output joined to a managed process's.
 */
#pragma once

#include "args.h"
#include "client.h"

struct relay {
	const char *session, *process;
	bool        reads; /* its output to ours, from args->from on, until it ends */
	bool        feeds; /* our input to it, until that ends */
	bool        eof;   /* and close its standard input then */
};

/* The exit code: of the process, if it has ended; all that went wrong has been said. */
int relay_run(struct client *, const struct args *, const struct relay *);
