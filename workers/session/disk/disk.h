/*
 * Where the bytes of a session's workspace are, and what bounds them.
 *
 * A private workspace is made by one of the mechanisms in disk.c's table, in a file of
 * its own each.  It hands over a detached mount with an empty directory; the sandbox's
 * child moves that into its root.  Without one, a tmpfs is mounted inside, which counts
 * as the session's memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "disk/disk_proof.h"
#include "wire/owned_msg.h"

/* What is wanted of a mechanism. */
struct disk_ask {
	uint64_t bytes;
	uint64_t inodes;
	uint32_t uid;       /* host uid of root inside */
	int      templates; /* directory of empty file systems; -1 without */
};

/* What it made. */
struct disk_made {
	int      tree;   /* detached mount */
	uint64_t bytes;  /* that can be written; at least what was asked for */
	uint64_t inodes; /* 0: bounded by the bytes they take only */
};

/* Works in the session's state directory, which is the current one. */
struct disk_mechanism {
	const char  *name;
	const char  *quota; /* what bounds it */
	enum backend backend;
	bool         counts_inodes;
	/* -1 and the reason leaves nothing behind. */
	int (*make)(const struct disk_ask *, struct disk_made *, struct err *);
	/* Remove what is in the directory: 0 nothing left, 1 only a worker with all its rights can, -1 failed. */
	int (*drop)(struct err *);
};

extern const struct disk_mechanism disk_loop, disk_btrfs;

struct disk {
	struct msg_disk   reported; /* for the state file; borrows from the next */
	struct owned_msg  kept;
	struct msg_disk   shown; /* the same with what a watcher keeps beside it; borrows from reported or the next */
	struct owned_msg  shown_kept;
	struct disk_limit quota;        /* of the spec; 0: none */
	struct disk_limit watched;      /* what a watcher keeps, because no kernel does; 0: nothing */
	bool              watches_host; /* the workspace among it */
	int               tree;         /* owned; until the sandbox's child has it.  -1: a tmpfs, or not ours */
};

void disk_init(struct disk *);

/* A private workspace: on a disk, or in memory with the reason why not on a disk. */
int disk_make(struct disk *, const struct msg_worker_start *, struct err *);

/* A directory of the host's: its quota, if it has one, by the kernel or to be watched. */
int disk_host(struct disk *, const struct msg_worker_start *, int workspace, struct err *);

/*
 * When the above are known, or remembered: what is left to be watched of the quota that was
 * asked for.  That is the workspace where no kernel keeps it, and the extra mounts that can
 * be written, and their number.
 */
int disk_watch(struct disk *, const struct msg_worker_start *, size_t extra, struct err *);

/* What another worker made, from the state file. */
int disk_remember(struct disk *, const struct msg_disk *, struct err *);

/* The sandbox's child has the mount now. */
void disk_handed_over(struct disk *);

/* When no process of the session is left; as a mechanism's drop. */
int  disk_drop(struct err *);
void disk_clear(struct disk *);
