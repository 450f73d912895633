#include "cmd.h"

int
cmd_status(const struct args *a)
{
	struct msg_status ask;

	msg_defaults(MSG_STATUS, &ask);
	return cmd_show(a, MSG_STATUS, &ask, NULL);
}
