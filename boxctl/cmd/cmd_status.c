#include "cmd.h"
#include "render.h"

int
cmd_status(const struct args *a)
{
	struct msg_status ask;
	struct client     c;
	struct msg        reply;

	msg_defaults(MSG_STATUS, &ask);
	int code = cmd_ask(a, MSG_STATUS, &ask, &c, &reply);
	if (code != EXIT_OK)
		return code;
	if (a->json)
		render_print_json(render_json(MSG_STATUS_RESULT, reply.body));
	else
		render_lines(MSG_STATUS_RESULT, reply.body, 0);
	cmd_done(&c, &reply);
	return EXIT_OK;
}
