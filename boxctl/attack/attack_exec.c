#include "attack/attack_exec.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"

/* All that the attacks print fits; it is acknowledged as it comes all the same. */
#define WINDOW MIB

enum {
	LINE = 8192, /* longest line that can be one of ours */
	STEP_MS = 1000,
	OVERDUE_MS = 60 * 1000, /* behind a command's own timeout: then the daemon has lost it */
};

int
attack_exec_start(struct attack_exec *x, struct client *c, const struct attack_command *what, struct err *e)
{
	struct msg_exec ask;
	size_t          n = 0;

	x->client = c;
	msg_defaults(MSG_EXEC, &ask);
	while (what->argv != NULL && what->argv[n] != NULL)
		n++;
	ask.session = what->session;
	ask.command = what->command != NULL ? what->command : "";
	ask.argv = (struct strs){ n, what->argv };
	ask.timeout_ms = what->timeout_ms;
	x->heard_ms = span_ms();
	x->until_ms = x->heard_ms + what->timeout_ms + OVERDUE_MS;
	ask.keep_bytes = 0;
	ask.window = x->on_line != NULL ? WINDOW : 0;
	if (what->input != NULL)
		ask.stdin = blob_of(what->input, what->input_n);
	return client_send(c, MSG_EXEC, &ask, &x->call, e);
}

static void
take_lines(struct attack_exec *x)
{
	char *end;

	while (x->line.len > 0 && (end = memchr(x->line.data, '\n', x->line.len)) != NULL) {
		*end = '\0';
		x->heard_ms = span_ms();
		x->on_line(x->on_line_arg, x->line.data);
		buf_drop(&x->line, (size_t)(end - x->line.data) + 1);
	}
	if (x->line.len > LINE) /* no line of ours */
		buf_drop(&x->line, x->line.len);
}

static int
on_output(struct attack_exec *x, const struct msg_output *o, struct err *e)
{
	struct msg_output_ack ack = { .call = x->call, .stream = o->stream, .offset = o->offset + o->data.len };

	if (o->call != x->call)
		return 0;
	if (o->stream == STREAM_STDOUT && x->on_line != NULL) {
		if (blob_read(&o->data, &x->line, e) == -1)
			return -1;
		take_lines(x);
	}
	return client_send(x->client, MSG_OUTPUT_ACK, &ack, NULL, e);
}

static void
on_reply(struct attack_exec *x)
{
	x->ended = true;
	if (x->reply.failed)
		x->why = x->reply.error;
	else if (msg_expect(&x->reply, MSG_EXEC_RESULT, &x->why) == 0)
		x->result = x->reply.body;
}

static int
take_all(struct attack_exec *x, struct err *e)
{
	while (!x->ended) {
		int got = client_take(x->client, &x->reply, e), r = 0;

		if (got != 0)
			return got == -1 ? -1 : 0;
		if (x->reply.envelope == ENV_REPLY && x->reply.id == x->call) {
			on_reply(x); /* keeps the reply */
			return 0;
		}
		if (x->reply.type == MSG_OUTPUT)
			r = on_output(x, x->reply.body, e);
		msg_clear(&x->reply);
		if (r == -1)
			return -1;
	}
	return 0;
}

/* Its result still comes, with the cause of its end. */
static int
cancel(struct attack_exec *x, struct err *e)
{
	struct msg_cancel ask = { .call = x->call };

	x->is_silent = true;
	x->until_ms = span_ms() + OVERDUE_MS;
	return client_send(x->client, MSG_CANCEL, &ask, NULL, e);
}

int
attack_exec_poll(struct attack_exec *x, int wait_ms, struct err *e)
{
	struct interrupt *in = x->client->interrupt;
	struct pollfd     p[] = {
		    { .fd = x->client->fd, .events = POLLIN },
		    { .fd = in->fd, .events = POLLIN },
	};

	if (take_all(x, e) == -1)
		return -1;
	if (x->ended)
		return 0;
	if (x->silence_ms > 0 && !x->is_silent && span_ms() > x->heard_ms + x->silence_ms && cancel(x, e) == -1)
		return -1;
	if (span_ms() > x->until_ms) {
		x->client->broken = true;
		return err_set(e, E_CRASH, "boxd does not answer");
	}
	int n = poll(p, 2, wait_ms);
	interrupt_read(in);
	if (in->count > 0)
		return err_set(e, E_STATE, "interrupted");
	if (n > 0 && p[0].revents != 0 && client_fill(x->client, e) == -1)
		return -1;
	return take_all(x, e);
}

int
attack_exec_wait(struct attack_exec *x, struct err *e)
{
	while (!x->ended)
		if (attack_exec_poll(x, STEP_MS, e) == -1)
			return -1;
	return 0;
}

void
attack_exec_clear(struct attack_exec *x)
{
	if (x->ended)
		msg_clear(&x->reply);
	buf_clear(&x->line);
	*x = (struct attack_exec){ 0 };
}
