/*
 * The secret for LangBot's door.  The daemon says only where it is; a user who may read that file may know it.
 */
#include <sodium.h>
#include <stdio.h>

#include "cmd.h"
#include "host/tokenfile.h"
#include "render.h"
#include "text.h"

static int
failed(const struct err *e)
{
	complain("%s", e->text);
	return EXIT_REFUSED;
}

static void
print_token(const struct args *a, const char *path, const char *secret)
{
	if (!a->json) {
		puts(secret);
		return;
	}
	json_t *o = json_object();
	json_object_set_new(o, "file", render_json_string(path));
	json_object_set_new(o, "token", render_json_string(secret));
	render_print_json(o);
}

static int
show(const struct args *a, const char *path)
{
	char       secret[LIM_TOKEN + 1];
	struct err e;

	if (sodium_init() == -1)
		return failed(&(struct err){ .text = "libsodium does not start" });
	if (a->new_token && tokenfile_make(path, &e) == -1)
		return failed(&e);
	if (tokenfile_read(path, secret, &e) == -1)
		return failed(&e);
	print_token(a, path, secret);
	sodium_memzero(secret, sizeof(secret));
	return EXIT_OK;
}

int
cmd_token(const struct args *a)
{
	struct msg_status ask;
	struct client     c;
	struct msg        reply;
	struct err        e;

	msg_defaults(MSG_STATUS, &ask);
	int code = cmd_ask(a, MSG_STATUS, &ask, &c, &reply);
	if (code != EXIT_OK)
		return code;
	const struct msg_status_result *s = reply.body;
	if (*s->token_file != '\0')
		code = show(a, s->token_file);
	else {
		err_set(&e, E_NOTFOUND, "%s",
		    *s->http_address != '\0' ? "this boxd has no file with a token: it has auth = none, or its token "
					       "came by LANGBOT_BOX_CONTROL_TOKEN"
					     : "this boxd does not listen for LangBot: see listen in boxd.conf(5)");
		code = failed(&e);
	}
	cmd_done(&c, &reply);
	return code;
}
