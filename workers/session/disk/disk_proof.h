/* A quota counts when it has refused something, not when an ioctl has taken it. */
#pragma once

#include <stdint.h>

#include "base/bounds.h"
#include "base/err.h"

#define DISK_PROOF_LIMIT MIB

/* In this directory more than limit bytes must be refused: 0 they were; -1 and what happened. */
int disk_prove(int dir, uint64_t limit, struct err *);

struct disk_limit {
	uint64_t bytes, entries;
};

/* The limits of a tree by its project id; not yet proved.  -1 when its project or limit is not boxd's. */
int project_limit(int dir, const struct disk_limit *, struct err *);

/* Of a subvolume by its own quota group; not yet proved. */
int btrfs_limit(int subvolume, uint64_t bytes, struct err *);

/* The same, on a subvolume of the host: -1 when it has a limit that boxd did not set. */
int btrfs_limit_host(int subvolume, uint64_t bytes, struct err *);
