/* A directory by its path, without following any symlink, and by descriptors from then on. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/bounds.h"
#include "base/err.h"

struct place {
	char path[LIM_PATH + 1]; /* normal */
	int  parent;             /* owned; O_PATH */
	int  dir;                /* owned; -1: it is not there */
};

/* Of "tenants/x" in a path, tenants may be missing too: make then makes it.  place_close is due in any case. */
int  place_open(struct place *, const char *path, bool make, struct err *);
void place_close(struct place *);

/* The last part of its path. */
const char *place_name(const struct place *);

/* Make it, with the owner and mode of like. */
int place_make(struct place *, const struct stat *like, struct err *);

/* Look again: something else is mounted there now. */
int place_again(struct place *, struct err *);

/* Is there nothing in this directory?  -1 and why it is not known. */
int dir_is_empty(int dir, struct err *);

/* Remove what is in it; no directory is. */
int dir_empty(int dir, struct err *);
