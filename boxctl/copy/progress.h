/* How far a copy is, on a terminal: one line that is written over. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool     shown; /* a person looks at it */
	bool     dirty; /* a line stands there */
	uint64_t bytes, files;
	uint64_t started_us, said_us;
};

/* Nothing is shown when quiet, or where standard error is no terminal. */
void progress_start(struct progress *, bool quiet);

/* So many bytes more, of this file; total: of how many, 0 when nobody knows. */
void progress_add(struct progress *, const char *name, uint64_t bytes, uint64_t done, uint64_t total);

/* Take the line away: something else is to be said. */
void progress_clear(struct progress *);
