/*
 * A command in a throw-away session, its output line by line.  Started and waited for apart, so that two can run on
 * two connections at once.
 */
#pragma once

#include "client.h"

struct attack_exec {
	struct client                *client; /* borrowed */
	uint64_t                      call;
	uint64_t                      until_ms;   /* monotonic; then the daemon has lost it */
	uint64_t                      silence_ms; /* 0: any; without a line for so long it is cancelled */
	uint64_t                      heard_ms;   /* when the last line came */
	bool                          is_silent;  /* it was cancelled */
	bool                          ended;
	struct err                    why;     /* its text is empty when it has a result */
	struct msg                    reply;   /* cleared by attack_exec_clear */
	const struct msg_exec_result *result;  /* in reply; NULL when it failed */
	struct buf                    line;    /* owned; of standard output, what has no end yet */
	void (*on_line)(void *, const char *); /* NULL: output is counted and dropped */
	void *on_line_arg;
};

struct attack_command {
	const char  *session;
	const char  *command; /* by sh -lc; or */
	const char **argv;    /* NULL behind the last */
	const void  *input;
	size_t       input_n;
	uint64_t     timeout_ms;
};

/* on_line, its argument and silence_ms are set before; -1: it did not begin. */
int attack_exec_start(struct attack_exec *, struct client *, const struct attack_command *, struct err *);

/* Read what has come, for at most this long; .ended is set at the end.  -1: the connection is over, or a signal came. */
int attack_exec_poll(struct attack_exec *, int wait_ms, struct err *);

/* Until it has ended. */
int  attack_exec_wait(struct attack_exec *, struct err *);
void attack_exec_clear(struct attack_exec *);
