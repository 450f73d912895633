/*
 * What a directory tree holds, counted for people to look at: bytes and files.
 *
 * Strangers made the tree and may be changing it.  No symlink is followed and nothing mounted below the tree is
 * entered; each directory is opened by one name in its parent.  Memory is fixed, and entries, depth and time are bounded.
 * What could not be counted is reported: an error for each place that was left out, and cut.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum usage_of {
	USAGE_APPARENT,  /* lstat sizes, each name for itself; directories count nothing */
	USAGE_ALLOCATED, /* as du does: blocks, in KiB, directories too, a file with several names once */
};

struct usage_tally {
	bool     exists;
	bool     cut; /* there is more than was counted */
	uint64_t bytes;
	uint64_t files; /* USAGE_APPARENT: all but directories; USAGE_ALLOCATED: regular files */
	uint64_t errors;
};

struct usage_walk;
struct usage_links;

/* Entries and time are for all that is counted with it. */
struct usage {
	enum usage_of       of;
	uint64_t            entries_left;
	uint64_t            until_us;
	bool                over;  /* one of them is used up */
	struct usage_walk  *walk;  /* owned */
	struct usage_links *links; /* owned; USAGE_ALLOCATED */
};

int  usage_open(struct usage *, enum usage_of, uint64_t entries, uint64_t most_ms, struct err *);
void usage_close(struct usage *);

/* dir/name and all below it.  Names directly in it that are in skip, which ends with NULL, are left out; skip may be NULL. */
void usage_count(struct usage *, int dir, const char *name, const char *const *skip, struct usage_tally *);
