/*
 * By which paths a directory of the host can be seen.  A bind mount shows it at another place, and a file system that
 * is mounted twice is the same at both: the mount table shows it.  A rule about a path is then asked about all of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/bounds.h"
#include "base/err.h"

struct hostname {
	char *path;   /* owned */
	char *mount;  /* owned; where what shows it there is mounted */
	bool  inside; /* what is at this path is in the directory, and not the directory itself */
};

struct hostid {
	dev_t dev;
	ino_t ino;
};

struct hostview {
	struct hostname *v; /* owned; the first is the path that was asked for */
	size_t           n, room;
	struct hostid    above[LIM_PATH / 2 + 1]; /* itself if it exists, and all directories above it */
	size_t           n_above;
	bool             exists; /* so above begins with itself */
};

/*
 * fd is on the mount that the path is on: of the path itself, or of the last directory on it that exists.  The path
 * has no symlinks.
 */
int  hostview_open(struct hostview *, int fd, const char *path, struct err *);
void hostview_clear(struct hostview *);

/* Read the mount table, so that the next one need not unless it changes meanwhile. */
void hostview_ahead(void);

/* By device and inode: is it this directory, or below it?  Does it contain it?  Symlinks in the path are followed. */
bool hostview_below(const struct hostview *, const char *path);
bool hostview_contains(const struct hostview *, const char *path);

/* The number that mountinfo has for the mount of a descriptor; -1: unknown. */
int hostview_mount_id(int fd);
