/*
 * Who a connection is.  The gateway only carries bytes; the kernel is asked here,
 * on the client's own socket.
 */
#ifndef SUPERVISOR_IDENTITY_H
#define SUPERVISOR_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct identities;

struct identities *identities_open(const char *allowed_group, struct err *);
void               identities_close(struct identities **);

/* A client came on this socket: remember it, or -1 and why it may not. */
int  identity_admit(struct identities *, uint64_t conn, int peer, struct err *);
bool identity_known(const struct identities *, uint64_t conn);
void identity_forget(struct identities *, uint64_t conn);
void identity_forget_all(struct identities *);

size_t identities_count(const struct identities *);

#endif
