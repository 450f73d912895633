/*
 * One side of a copy: a path here, standard input or output, or SESSION:PATH.
 */
#pragma once

#include <stdbool.h>

#include "client.h"

struct place {
	bool in_session;
	bool is_stdio;              /* "-" */
	char session[LIM_NAME + 1]; /* in_session */
	char path[LIM_PATH + 1];    /* in_session: never empty, "." is the workspace */
	bool contents;              /* a directory's contents are meant: it ends in "/.", or is "." */
	bool wants_dir;             /* it ends in a slash */
};

/* As on the command line.  -1: the text names it. */
int place_parse(struct place *, const char *word, struct client *, struct err *);

/* SESSION or SESSION:PATH, for commands that are about nothing else. */
int place_parse_session(struct place *, const char *word, struct client *, struct err *);

/* The last part of its path; "" for an empty path. */
const char *place_name(const struct place *, char out[LIM_PATH + 1]);
