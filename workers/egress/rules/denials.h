/*
 * The last denials of a session.  The same once more is the same denial, counted: a program that tries again and
 * again does not push out what another one was refused.
 */
#pragma once

#include <sys/queue.h>

#include "wire/msg.h"

enum {
	DENIALS_SAME_MS = 1000, /* the same is logged again after this time */
	DENIALS_SECOND = 10,    /* told to the log in a second, of one session */
};

struct denial;

struct denials {
	TAILQ_HEAD(denial_list, denial) v; /* owned; newest first */
	size_t   n;
	uint64_t second_ms; /* when the second began in which they were logged */
	unsigned reported;
};

void denials_init(struct denials *);
void denials_clear(struct denials *);

/*
 * One more, which is copied.  now_ms: any clock that does not go back.  true: this is for the log; *count says how
 * often it happened since it was told last.
 */
bool denials_add(struct denials *, const struct msg_net_denial *, uint64_t now_ms, uint64_t *count);

/* Newest first; how many.  They are valid until the next denials_add. */
size_t denials_list(const struct denials *, struct msg_net_denial v[LIM_NET_DENIALS]);
