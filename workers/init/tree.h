/*
 * All processes of one command, however they forked, and their end.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct tree {
	int      cgroup;  /* owned; its v2 directory, or -1 */
	int      uts_tag; /* owned; its UTS namespace, or -1.  While it is open no other gets its inode number */
	dev_t    dev;     /* of the mark */
	ino_t    ino;
	uint64_t killed; /* processes so far */
	bool     asked;  /* the kernel was asked to kill the cgroup */

	/* how far the killing of a marked tree has come */
	enum { TREE_STOP, TREE_KILL } phase;
	DIR     *proc;     /* owned; a scan in progress */
	unsigned stops;    /* stopping passes of this round */
	unsigned running;  /* found by this pass: may still fork */
	unsigned live;     /* found by this pass: not dead yet */
	unsigned leaving;  /* found by this pass: dying, and shows no mark any more */
	unsigned empty;    /* passes in a row that found nobody */
	uint64_t deserted; /* when a pass found none of ours that lives, in ticks since the machine started; or 0 */
};

/* Not known by anything yet. */
void tree_init(struct tree *);

/*
 * Enter a new UTS namespace, which the next child inherits; children of others
 * have their own.  Made before the child is, so that not even a child that
 * forks and is gone at once can leave somebody unmarked.
 */
int tree_tag(struct tree *, struct err *);

enum tree_state {
	TREE_GONE, /* not one live process is left, nor what it had open */
	TREE_BUSY, /* go on soon: there is more to look at */
	TREE_WAIT, /* all were killed; look again after a death or a little while */
};

/* Kill, a slice at a time: called again and again until TREE_GONE. */
enum tree_state tree_kill(struct tree *);

/* Close what is owned.  Does not kill. */
void tree_clear(struct tree *);
