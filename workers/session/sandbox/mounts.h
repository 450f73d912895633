/*
 * What of the host a sandbox gets to see at a place of its own: spec.host_path at
 * spec.mount_path, and spec.extra_mounts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/msg.h"

struct mount_entry {
	char  at[LIM_PATH + 1]; /* where inside; normal */
	int   fd;               /* owned; O_PATH of the host's directory or file, checked */
	int   tree; /* owned; a detached mount of it; -1: the child makes it, an ordinary user's worker cannot */
	bool  is_file;
	bool  read_only;
	bool  sealed;    /* put where no command can make, move or remove anything */
	char *real;      /* owned; the path that was checked */
	char  field[64]; /* of the spec, for messages */
};

struct mounts {
	int                 workspace; /* owned; O_PATH of spec.host_path, checked; -1: the workspace is private */
	struct mount_entry *v; /* owned; parents before what is mounted below them; gone once the child has them */
	size_t              n;
	int    extra[LIM_MOUNTS]; /* owned; O_PATH of extra mounts that can be written, when there is a quota */
	size_t nextra;
	int    map; /* owned; the id map made last: many mounts have one owner */
	uid_t  map_uid;
	gid_t  map_gid;
};

/* Empty, as before any spec. */
void mounts_init(struct mounts *);

/* In the worker: check every path of the spec and make what the child only has to put in its place. */
int mounts_prepare(struct mounts *, const struct msg_worker_start *, struct err *);

/* The child has been started: only the workspace, and what else a quota counts, is kept. */
void mounts_prepared(struct mounts *);

/* For who measures a sandbox that stands: find the workspace's directory again, and what else the quota counts. */
int mounts_reopen(struct mounts *, const struct msg_worker_start *, struct err *);

void mounts_clear(struct mounts *);

/* In the child, while it still sees the host: make what the worker could not. */
int mounts_detach(struct mounts *, struct err *);

/*
 * In the child, whose root is its current directory: put them in their places.  living: in the mount namespace of one
 * command of a sandbox that stands, where places that are missing are made though the directory above cannot be written.
 */
int mounts_put(struct mounts *, bool living, struct err *);

/* Which directories and files these are, and on which mounts, in a line of text. */
int mounts_sources(const struct mounts *, char *line, size_t size, struct err *);

/* All of them are where no command can change what is above them. */
bool mounts_are_sealed(const struct mounts *);

/* Where the workspace is inside, and where a command starts that names no directory. */
const char *mounts_workdir(const struct msg_spec *);

/* Is the workspace the session's own, and not a directory of the host? */
bool mounts_private(const struct msg_spec *);
