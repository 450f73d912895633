#include <stdio.h>

#include "cmd.h"
#include "render.h"
#include "text.h"

/* Only the name is printed, for s=$(boxctl create). */
int
cmd_create(const struct args *a)
{
	struct msg_create ask = { .session = a->name, .spec = a->spec };
	struct client     c;
	struct msg        reply;

	int code = cmd_ask(a, MSG_CREATE, &ask, &c, &reply);
	if (code != EXIT_OK)
		return code;
	const struct msg_session_info *made = reply.body;
	if (a->json)
		render_print_json(render_json(MSG_SESSION_INFO, made));
	else
		printf("%s\n", text_safe(made->session));
	cmd_done(&c, &reply);
	return EXIT_OK;
}
