/* Which directories are packages: those with a SKILL.md, found breadth first. */
#pragma once

#include <stddef.h>

#include "base/err.h"

enum {
	DISCOVER_ALL = 6,  /* depth for a whole workspace */
	DISCOVER_NEAR = 2, /* and where somebody pointed */
};

struct found {
	char       *path;  /* owned; beneath the root, "" the root itself */
	const char *entry; /* SKILL.md, or skill.md */
};

struct finds {
	struct found *v; /* owned */
	size_t        n;
};

/* The entry file of a directory; NULL: it is no package. */
const char *discover_entry(int dir);

int  discover(int root, unsigned depth, struct finds *, struct err *);
void finds_clear(struct finds *);
