#include "wire/route.h"

/* clang-format off */
static const struct route routes[MSG__COUNT] = {
#define ROUTE(N, room, when) [MSG_##N] = { ROOM_##room, when },
#include "messages/messages.def"
};
/* clang-format on */

const struct route *
msg_route(enum msg_type t)
{
	return &routes[t < MSG__COUNT ? t : MSG_NONE];
}
