#include <string.h>

#include "langbot/action.h"

enum { TENANT, SANDBOX = TENANT, HOST }; /* which of a workspace's need a grant is the supervisor's to know */

/* clang-format off */
static const struct action table[] = {
#define ACTION(wire, N, whose, when, handler, reader, shaper) { wire, (whose) == HOST, MSG_##N, reader, shaper },
#define ACTION_HERE(wire, whose, reader) { wire, (whose) == HOST, MSG_NONE, reader, shape_known },
#include "messages/messages.def"
};
/* clang-format on */

const struct action *
action_find(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0)
			return &table[i];
	return NULL;
}

const struct action *
action_at(size_t i)
{
	return i < sizeof(table) / sizeof(*table) ? &table[i] : NULL;
}
