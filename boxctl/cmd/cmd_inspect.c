#include "cmd.h"
#include "render.h"

int
cmd_inspect(const struct args *a)
{
	struct msg_get ask = { .session = a->v[0] };
	struct client  c;
	struct msg     reply;

	int code = cmd_ask(a, MSG_GET, &ask, &c, &reply);
	if (code != EXIT_OK)
		return code;
	if (a->json)
		render_print_json(render_json(MSG_SESSION_INFO, reply.body));
	else
		render_lines(MSG_SESSION_INFO, reply.body, 0);
	cmd_done(&c, &reply);
	return EXIT_OK;
}
