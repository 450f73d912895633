/* The walls by name: what a client or the operator can require. */
#pragma once

#include "base/err.h"

enum wall {
#define WALL(N, name, part, doc) WALL_##N,
#include "host/walls.def"
#undef WALL
	WALL__COUNT
};

enum wall_part { WALL_OF_SANDBOX, WALL_OF_TIER, WALL_OF_LAYER, WALL_OF_SESSION };

const char    *wall_name(enum wall);
enum wall_part wall_part(enum wall);

/* -1: E_INVALID, with the names there are. */
int wall_find(const char *name, enum wall *, struct err *);
