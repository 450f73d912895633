/*
 * One command in a session, seen from the terminal: its output to ours as it comes,
 * our signals to it, its end as our exit code.
 */
#pragma once

#include "args.h"
#include "client.h"

/*
 * Check the command line (words: what stands behind the options and the session),
 * read standard input if it was asked for, connect, take over the signals, and do
 * the work.  The exit code; all that went wrong has been said.
 */
int exec_prepared(const struct args *, const char *command, const char **words, size_t n,
    int (*work)(struct client *, const struct args *, void *input));

/* Run it, show its output, say what there is to say; the exit code. */
int exec_run(
    struct client *, const struct args *, const char *session, const char **words, size_t n, const struct buf *input);
