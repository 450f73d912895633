#include "cmd.h"

int
cmd_inspect(const struct args *a)
{
	return cmd_show(a, MSG_GET, &(struct msg_get){ .session = a->v[0] }, NULL);
}
