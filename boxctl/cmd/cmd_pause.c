#include <stdio.h>

#include "cmd.h"
#include "render.h"
#include "text.h"

/* One after the other, and on after a refusal; what was done is printed. */
static int
each(const struct args *a, enum msg_type t)
{
	json_t *done = json_array();
	int     worst = EXIT_OK;

	for (size_t i = 0; i < a->n && worst != EXIT_BOXD; i++) {
		struct msg_pause ask = { .session = a->v[i] }; /* and msg_unpause, which has the same fields */
		struct client    c;
		struct msg       reply;
		int              code = cmd_ask(a, t, &ask, &c, &reply);

		worst = code > worst ? code : worst;
		if (code != EXIT_OK)
			continue;
		cmd_done(&c, &reply);
		json_array_append_new(done, render_json_string(a->v[i]));
		if (!a->json)
			printf("%s\n", text_safe(a->v[i]));
	}
	if (a->json && worst != EXIT_BOXD)
		render_print_json(json_incref(done));
	json_decref(done);
	return worst;
}

int
cmd_pause(const struct args *a)
{
	return each(a, MSG_PAUSE);
}

int
cmd_resume(const struct args *a)
{
	_Static_assert(sizeof(struct msg_pause) == sizeof(struct msg_unpause), "they say the same");
	return each(a, MSG_UNPAUSE);
}
