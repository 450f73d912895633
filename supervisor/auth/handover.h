/*
 * What LangBot's door leaves to the boxd that is executed in place of this one: the listening socket, so that no
 * client is refused meanwhile and a port that the kernel chose stays; the token, when it came by the environment,
 * which is wiped; and the trusted instance.  It travels in a memfd whose number is in the environment.
 */
#pragma once

#include "auth/instance.h"
#include "auth/token.h"

struct handover {
	int           listener; /* owned; -1: none */
	bool          has_token;
	unsigned char key[crypto_generichash_KEYBYTES];
	unsigned char hash[crypto_generichash_BYTES];
	char          instance[INSTANCE_LEN + 1]; /* empty: none */
};

enum { HANDOVER_FDS = 2 };

/* The descriptors that were left to us and are what they should be.  Their number. */
size_t handover_descriptors(int fds[HANDOVER_FDS]);

/* Empty when there is no handover.  Its descriptors do not pass to our children. */
void handover_take(struct handover *);

/* For the next execve.  The listener stays the caller's, and is inherited. */
int handover_give(const struct handover *, struct err *);

void handover_clear(struct handover *);
