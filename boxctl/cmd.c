#include "cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

const char *
cmd_socket(const struct args *a)
{
	return a->socket != NULL ? a->socket : client_default_path();
}

int
cmd_ask(const struct args *a, enum msg_type t, const void *body, struct client *c, struct msg *reply)
{
	struct err e;

	if (client_open(c, cmd_socket(a), &e) == 0 && client_call(c, t, body, reply, &e) == 0)
		return EXIT_OK;
	complain("%s", e.text);
	client_close(c);
	return c->broken ? EXIT_BOXD : EXIT_REFUSED;
}

void
cmd_done(struct client *c, struct msg *reply)
{
	msg_clear(reply);
	client_close(c);
}
