/*
 * A directory in the skills root that no workspace sees.  What is to appear whole is made in it and renamed
 * into place; what is to be gone is renamed into it and removed there.
 */
#pragma once

#include "base/err.h"

struct staging {
	int  parent; /* borrowed; the skills root */
	int  dir;    /* owned, and locked as long as it is open */
	char name[32];
};

int staging_open(struct staging *, int skills, struct err *);

/* Remove it with all that is in it. */
int staging_close(struct staging *, struct err *);

/* Remove the ones whose process has died. */
void staging_sweep(int skills);
