/*
 * The workspace as box-files sees it, and what its parts share.
 *
 * Everything happens with the rights of the sandbox's own commands, so that a race
 * that is won gains nothing a command could not do itself.  The rules here are for
 * the client: it shall never be led by the sandbox to a file it did not name.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/bounds.h"
#include "base/err.h"
#include "base/newfile.h"

struct box {
	const char *path; /* of the workspace, inside */
	int         root; /* owned; O_PATH */
	bool        sync; /* what is committed shall survive a power cut */
	char        stem[NEWFILE_STEM];
};

/* ---- path.c: names to descriptors ---- */

/*
 * What a client asked for as "a/b/c", or "" for the workspace itself.  -1: it is not beneath the
 * workspace; the text names it.
 */
int path_clean(const char *workspace, const char *asked, char out[LIM_PATH + 1], struct err *);

/* A directory, without following a symlink on the way: O_PATH, or -1 and why not. */
int path_open_dir(int root, const char *clean, struct err *);

/* The directory that the last part is in; *last points into clean.  The workspace itself is refused. */
int path_open_parent(int root, const char *clean, const char **last, struct err *);

/* ---- fail.c ---- */

/* errno, for a person and for the peer: "doing path: why".  fs: a descriptor there, or -1.  Always -1. */
int fail_errno(struct err *, int fs, const char *doing, const char *path);

/* dir/name was to be a directory and is not: say whether it is a symlink or something else.  Always -1. */
int fail_not_dir(struct err *, int dir, const char *name, const char *path);

/* A path from a client or the sandbox, fit for a text. */
const char *shown(const char *path);
