#include "cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "render.h"
#include "text.h"

/* Lines are ours, what is in them may be anybody's: all but newlines is escaped. */
void
complain(const char *fmt, ...)
{
	struct buf out = { 0 };
	char       text[ERR_TEXT + 512];
	va_list    ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_printf(&out, "boxctl: ");
	for (char *line = text, *next; line != NULL; line = next) {
		size_t n = strcspn(line, "\n");

		next = line[n] == '\n' ? line + n + 1 : NULL;
		text_escape(&out, line, n);
		buf_append(&out, "\n", 1);
	}
	fflush(stdout);
	fwrite(out.data, 1, out.len, stderr);
	buf_clear(&out);
}

int
usage_error(const char *command, const struct err *e)
{
	complain("%s%s%s\nTry 'boxctl %s%s--help'.", command, command[0] != '\0' ? ": " : "", e->text, command,
	    command[0] != '\0' ? " " : "");
	return EXIT_USAGE;
}

int
cmd_ask(const struct args *a, enum msg_type t, const void *body, struct client *c, struct msg *reply)
{
	struct err e;

	if (client_open(c, a->socket, &e) == 0 && client_call(c, t, body, reply, &e) == 0)
		return EXIT_OK;
	complain("%s", e.text);
	client_close(c);
	return c->broken ? EXIT_BOXD : EXIT_REFUSED;
}

int
cmd_show(const struct args *a, enum msg_type t, const void *body, void (*print)(const void *))
{
	const enum msg_type result = msg_def(t)->result;
	struct client       c;
	struct msg          reply;

	int code = cmd_ask(a, t, body, &c, &reply);
	if (code != EXIT_OK)
		return code;
	if (a->json)
		render_print_json(render_json(result, reply.body));
	else if (print != NULL)
		print(reply.body);
	else
		render_lines(result, reply.body, 0);
	cmd_done(&c, &reply);
	return EXIT_OK;
}

int
cmd_interruptible(const struct args *a, int (*work)(struct client *, const struct args *, void *), void *what)
{
	struct interrupt in = { .fd = -1 };
	struct client    c = { .fd = -1 };
	struct err       e;
	int              code = EXIT_BOXD;

	if (client_open(&c, a->socket, &e) == -1 || interrupt_open(&in, &e) == -1)
		complain("%s", e.text);
	else {
		c.interrupt = &in;
		code = work(&c, a, what);
	}
	interrupt_close(&in);
	client_close(&c);
	return code;
}

void
cmd_done(struct client *c, struct msg *reply)
{
	msg_clear(reply);
	client_close(c);
}
