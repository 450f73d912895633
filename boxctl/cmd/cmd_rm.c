#include <stdio.h>

#include "cmd.h"
#include "render.h"
#include "text.h"

/* One session; what was answered is added to *done. */
static int
remove_one(const struct args *a, struct client *c, const char *session, json_t *done)
{
	struct msg_delete ask = { .session = session };
	struct msg        reply;
	struct err        e;

	if (client_call(c, MSG_DELETE, &ask, &reply, &e) == 0) {
		const struct msg_deleted *gone = reply.body;

		json_array_append_new(done, render_json(MSG_DELETED, gone));
		if (!a->json)
			printf("%s\n", text_safe(gone->session));
		msg_clear(&reply);
		return EXIT_OK;
	}
	if (c->broken) {
		complain("%s", e.text);
		return EXIT_BOXD;
	}
	if (a->force && e.code == E_NOTFOUND)
		return EXIT_OK;
	complain("%s: %s", session, e.text);
	return EXIT_REFUSED;
}

/* Go on after a refusal, so that one wrong name does not keep the others alive. */
int
cmd_rm(const struct args *a)
{
	json_t       *done = json_array();
	struct client c;
	struct err    e;
	int           worst = EXIT_OK;

	if (client_open(&c, a->socket, &e) == -1) {
		complain("%s", e.text);
		worst = EXIT_BOXD;
	}
	for (size_t i = 0; i < a->n && worst != EXIT_BOXD; i++) {
		int code = remove_one(a, &c, a->v[i], done);

		worst = code > worst ? code : worst;
	}
	if (a->json && worst != EXIT_BOXD)
		render_print_json(json_incref(done));
	json_decref(done);
	client_close(&c);
	return worst;
}
