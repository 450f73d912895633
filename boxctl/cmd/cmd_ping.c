#include <stdio.h>

#include "base/clock.h"
#include "cmd.h"
#include "render.h"
#include "text.h"

int
cmd_ping(const struct args *a)
{
	struct msg_ping ask;
	struct client   c;
	struct msg      reply;

	msg_defaults(MSG_PING, &ask);
	uint64_t start = span_us();
	int      code = cmd_ask(a, MSG_PING, &ask, &c, &reply);
	if (code != EXIT_OK)
		return code;
	const struct msg_pong *pong = reply.body;
	if (a->json)
		render_print_json(render_json(MSG_PONG, pong));
	else
		printf("boxd %s, up %s, answered in %s\n", text_safe(pong->version),
		    text_duration(pong->uptime_ms * 1000), text_duration(span_us() - start));
	cmd_done(&c, &reply);
	return EXIT_OK;
}
