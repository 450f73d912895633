/* A quota counts when it has refused something, not when an ioctl has taken it. */
#ifndef SESSION_DISK_PROOF_H
#define SESSION_DISK_PROOF_H

#include <stdint.h>

#include "bounds.h"
#include "err.h"

#define DISK_PROOF_LIMIT MIB

/* In this directory more than limit bytes must be refused: 0 they were; -1 and what happened. */
int disk_prove(int dir, uint64_t limit, struct err *);

/* The same limit for a directory of the host's, if it is a subvolume of its own. */
int btrfs_limit(int subvolume, uint64_t bytes, struct err *);

#endif
