#include "host/walls.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static const struct {
	const char    *name;
	enum wall_part part;
} walls[] = {
#define WALL(N, name, part, doc) { name, WALL_OF_##part },
#include "host/walls.def"
#undef WALL
};

const char *
wall_name(enum wall w)
{
	return walls[w].name;
}

enum wall_part
wall_part(enum wall w)
{
	return walls[w].part;
}

static int
unknown(const char *name, struct err *e)
{
	char   known[ERR_TEXT] = "";
	size_t n = 0;

	for (size_t i = 0; i < WALL__COUNT && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i > 0 ? ", " : "", walls[i].name);
	return err_set(
	    e, E_INVALID, "there is no wall '%.64s'; there are: %s", log_escape(name, strnlen(name, 64)), known);
}

int
wall_find(const char *name, enum wall *out, struct err *e)
{
	for (size_t i = 0; i < WALL__COUNT; i++)
		if (strcmp(walls[i].name, name) == 0) {
			*out = (enum wall)i;
			return 0;
		}
	return unknown(name, e);
}
