/*
 * A file that appears under its name whole or not at all.
 *
 * Until then it has no name (O_TMPFILE), so that nothing is left of it however its
 * writer ends.  Replacing another file needs a name for the time of two system
 * calls; where the file system has no nameless files it needs one all the time.
 * Such a name is the stem and a random number, so that a leftover can be told.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

enum { NEWFILE_STEM = 64, NEWFILE_NAME = NEWFILE_STEM + 24 };

struct newfile {
	int  fd;    /* owned; to be written to; -1: none */
	int  dir;   /* owned; where it will be */
	int  spare; /* borrowed; a better place for temporary names, or -1 */
	int  at;    /* borrowed: dir or spare; where its temporary name is */
	char stem[NEWFILE_STEM];
	char temp[NEWFILE_NAME]; /* "" while it has none */
};

/* Takes dir when it succeeds.  -1 with errno: there is no file then. */
int newfile_open(struct newfile *, int dir, int spare, const char *stem, mode_t mode);

/* Under this name from here on, in the place of what had it before.  -1 with errno: it is as it was, and dropped. */
int newfile_commit(struct newfile *, const char *name);

/* Another kind of entry, made by itself under a temporary name, takes this name.  -1 with errno. */
int newfile_symlink(int dir, const char *stem, const char *target, const char *name);

/* Forget it, if there is one. */
void newfile_drop(struct newfile *);
