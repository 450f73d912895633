/*
 * The loop of a streamed command.  Three things are polled: the daemon's socket,
 * signals, and whichever of our outputs has bytes waiting.  The window bounds what
 * waits, because bytes are acknowledged only when they are written.
 */
#include "cmd/exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "copy/sink.h"
#include "render.h"
#include "text.h"

/*
 * Acks come every quarter of it, so the command is never held up by a terminal that
 * keeps pace.  Twice this is less than LIM_CONN_HIGH: the daemon goes on reading
 * our acks whatever it still has to send.
 */
#define WINDOW MIB

/* Kept of each stream when it is not streamed; both together fit what the daemon queues for us. */
#define KEEP (16 * MIB)

enum { INTERRUPTED_MS = 10000 }; /* after a signal, for the command's end to come */

struct run {
	struct client                *client;
	const struct args            *args;
	uint64_t                      call;      /* id of the exec request */
	bool                          cancelled; /* by us */
	bool                          ended;     /* its result, or the failure, is known */
	bool                          failed;
	struct err                    why;
	struct msg                    reply;
	bool                          has_reply; /* msg_clear is due */
	const struct msg_exec_result *result;    /* in reply */
	struct sink                   sinks[2];  /* by enum stream */
};

/* Is there a command, and only one? */
static int
check(const struct args *a, const char *const *words, size_t n, struct err *e)
{
	if (a->exec.command[0] != '\0' && n > 0)
		return err_set(e, E_INVALID, "-c STRING and the command '%s' exclude each other", text_safe(words[0]));
	if (a->exec.command[0] == '\0' && n == 0)
		return err_set(e, E_INVALID, "no command given");
	return 0;
}

static int
read_stdin(const struct args *a, struct buf *bytes, struct err *e)
{
	while (a->send_stdin) {
		if (buf_reserve(bytes, 64 * KIB) == -1)
			return err_set(e, E_SYS, "no memory for standard input");
		ssize_t n = read(STDIN_FILENO, bytes->data + bytes->len, 64 * KIB);
		if (n == 0)
			break;
		if (n == -1 && errno != EINTR)
			return err_sys(e, "read standard input");
		bytes->len += n > 0 ? (size_t)n : 0;
		if (bytes->len > LIM_STDIN)
			return err_set(
			    e, E_INVALID, "standard input is over %s; nothing was run", text_size(LIM_STDIN));
	}
	return 0;
}

/* ---- the loop ---- */

static void
end_with(struct run *r, const struct err *why)
{
	r->ended = true;
	r->failed = true;
	r->why = *why;
}

/* Asked once; its result, with cause cancelled, is still awaited. */
static void
cancel(struct run *r)
{
	struct msg_cancel ask = { .call = r->call };
	struct err        e;

	if (r->cancelled || r->ended)
		return;
	r->cancelled = true;
	if (client_send(r->client, MSG_CANCEL, &ask, NULL, &e) == -1)
		end_with(r, &e);
}

static void
acknowledge(struct run *r, struct sink *s)
{
	struct msg_output_ack ack = { .call = r->call, .stream = s->stream, .offset = sink_written(s) };
	struct err            e;

	if (r->ended || ack.offset - s->acked < WINDOW / 4)
		return;
	s->acked = ack.offset;
	if (client_send(r->client, MSG_OUTPUT_ACK, &ack, NULL, &e) == -1)
		end_with(r, &e);
}

static void
on_output(struct run *r, const struct msg_output *o)
{
	struct sink *s = &r->sinks[o->stream];
	struct err   e;

	if (o->call != r->call)
		return;
	if (sink_push(s, o->offset, &o->data, &e) == -1) {
		cancel(r);
		end_with(r, &e);
	} else if (s->failed != 0)
		acknowledge(r, s);
}

/* What was not streamed comes with the result. */
static void
on_result(struct run *r)
{
	struct err e;

	r->ended = true;
	r->has_reply = true;
	if (r->reply.failed || msg_expect(&r->reply, MSG_EXEC_RESULT, &e) == -1) {
		end_with(r, r->reply.failed ? &r->reply.error : &e);
		return;
	}
	r->result = r->reply.body;
	if (r->args->json || !r->args->buffered)
		return;
	if (sink_push(&r->sinks[STREAM_STDOUT], 0, &r->result->stdout, &e) == -1 ||
	    sink_push(&r->sinks[STREAM_STDERR], 0, &r->result->stderr, &e) == -1)
		end_with(r, &e);
}

static void
on_socket(struct run *r)
{
	struct err e;

	if (client_fill(r->client, &e) == -1) {
		end_with(r, &e);
		return;
	}
	while (!r->ended) {
		int got = client_take(r->client, &r->reply, &e);

		if (got == -1)
			end_with(r, &e);
		if (got != 0)
			return;
		if (r->reply.envelope == ENV_REPLY && r->reply.id == r->call) {
			on_result(r); /* keeps the reply */
			return;
		}
		if (r->reply.type == MSG_OUTPUT)
			on_output(r, r->reply.body);
		msg_clear(&r->reply);
	}
}

static void
on_writable(struct run *r, struct sink *s)
{
	sink_flush(s);
	if (s->failed != 0)
		cancel(r);
	acknowledge(r, s);
}

/* Until the command has ended and its output is written, or the second signal. */
static void
loop(struct run *r)
{
	struct interrupt *in = r->client->interrupt;

	while (in->count < 2 && (!r->ended || sink_waits(&r->sinks[0]) || sink_waits(&r->sinks[1]))) {
		struct pollfd p[] = {
			{ .fd = in->fd, .events = POLLIN },
			{ .fd = r->ended ? -1 : r->client->fd, .events = POLLIN },
			{ .fd = sink_waits(&r->sinks[0]) ? r->sinks[0].fd : -1, .events = POLLOUT },
			{ .fd = sink_waits(&r->sinks[1]) ? r->sinks[1].fd : -1, .events = POLLOUT },
		};

		int n = poll(p, 4, in->count > 0 ? INTERRUPTED_MS : -1);
		if (n == -1)
			continue; /* EINTR, the only one with valid arguments */
		if (n == 0)
			break; /* neither the daemon nor our output moves: leave as the signal asks */
		if (p[0].revents != 0)
			interrupt_read(in);
		if (in->count > 0)
			cancel(r);
		if (p[1].revents != 0)
			on_socket(r);
		for (int i = 0; i < 2; i++)
			if (p[2 + i].revents != 0)
				on_writable(r, &r->sinks[i]);
	}
}

/* ---- the end ---- */

/* Bytes the command wrote and we never saw. */
static bool
has_lost_output(const struct run *r)
{
	const uint64_t wrote[] = { r->result->stdout_bytes, r->result->stderr_bytes };
	bool           lost = false;

	for (int i = 0; i < 2; i++) {
		const struct sink *s = &r->sinks[i];

		if (r->args->json || s->got >= wrote[i])
			continue;
		if (r->args->buffered)
			complain(
			    "%s: only the first %s of %s were kept", s->name, text_size(s->got), text_size(wrote[i]));
		else
			complain("%s: output was lost: %lu of %lu bytes", s->name, wrote[i] - s->got, wrote[i]);
		lost = !r->args->buffered;
	}
	return lost;
}

/* Say why it ended, if its own exit code does not tell. */
static int
exit_code(const struct run *r)
{
	const struct msg_exec_result *x = r->result;
	int                           own = x->exit_code >= 0 ? (int)x->exit_code : 128 + (int)x->signal;

	switch (x->cause) {
	case CAUSE_EXIT:
	case CAUSE_SIGNAL:
		return own;
	case CAUSE_TIMEOUT:
		complain("command timed out after %s s; %lu process%s killed",
		    text_double((double)r->args->exec.timeout_ms / 1000), x->killed, x->killed == 1 ? "" : "es");
		return EXIT_TIMEOUT;
	case CAUSE_MEMORY:
		complain("killed: memory limit of the session reached");
		return 128 + SIGKILL;
	case CAUSE_PIDS:
		complain("pids limit of the session reached");
		return x->exit_code >= 0 || x->signal > 0 ? own : EXIT_BOXD;
	case CAUSE_DISK:
		complain("%s%s", x->exit_code < 0 ? "killed: " : "",
		    *x->error != '\0' ? x->error : "disk quota of the workspace reached");
		return x->exit_code > 0 ? own : x->exit_code == 0 ? EXIT_BOXD : 128 + SIGKILL;
	case CAUSE_SPAWN:
		complain("%s", x->error);
		return x->exit_code > 0 ? own : EXIT_NOT_EXECUTABLE;
	case CAUSE_CANCELLED:
		complain("command was cancelled; %lu process%s killed", x->killed, x->killed == 1 ? "" : "es");
		break;
	}
	return EXIT_BOXD;
}

/* Our own trouble comes before the command's: its end may be only a consequence. */
static int
verdict(const struct run *r)
{
	const struct interrupt *in = r->client->interrupt;

	if (in->count > 0)
		return 128 + in->signal;
	for (int i = 0; i < 2; i++) {
		if (r->sinks[i].failed == EPIPE)
			return 128 + SIGPIPE;
		if (r->sinks[i].failed == 0)
			continue;
		complain("write %s: %s", r->sinks[i].name, strerror(r->sinks[i].failed));
		return EXIT_BOXD;
	}
	if (r->failed) {
		complain("%s", r->why.text);
		return EXIT_BOXD;
	}
	bool lost = has_lost_output(r);
	int  code = exit_code(r);
	if (*r->result->hint != '\0' && !r->args->json)
		complain("%s", r->result->hint);
	return lost ? EXIT_BOXD : code;
}

static int
show_json(const struct run *r, int code)
{
	if (r->result == NULL)
		return code;
	render_print_json(render_json(MSG_EXEC_RESULT, r->result));
	if (fflush(stdout) == EOF && errno == EPIPE)
		return 128 + SIGPIPE;
	return code;
}

static void
ask_for(struct msg_exec *ask, const struct args *a, const char **words, size_t n, const struct buf *input)
{
	bool streamed = !a->json && !a->buffered;

	*ask = a->exec;
	ask->argv = (struct strs){ n, words };
	ask->extra_mounts.n = a->spec.extra_mounts.n;
	ask->extra_mounts.v = a->spec.extra_mounts.v;
	if (a->send_stdin)
		ask->stdin = blob_of(input->data, input->len);
	ask->window = streamed ? WINDOW : 0;
	ask->keep_bytes = streamed ? 0 : KEEP;
}

int
exec_run(
    struct client *c, const struct args *a, const char *session, const char **words, size_t n, const struct buf *input)
{
	struct run      r = { .client = c, .args = a };
	struct msg_exec ask;
	struct err      e;

	sink_init(&r.sinks[STREAM_STDOUT], STDOUT_FILENO, STREAM_STDOUT, "stdout");
	sink_init(&r.sinks[STREAM_STDERR], STDERR_FILENO, STREAM_STDERR, "stderr");
	ask_for(&ask, a, words, n, input);
	ask.session = session;
	if (client_send(c, MSG_EXEC, &ask, &r.call, &e) == -1)
		end_with(&r, &e);
	loop(&r);
	int code = verdict(&r);
	if (a->json)
		code = show_json(&r, code);
	if (r.has_reply)
		msg_clear(&r.reply);
	for (int i = 0; i < 2; i++)
		sink_clear(&r.sinks[i]);
	return code;
}

/* Standard input comes first: while we wait for it nothing has begun, and a signal just ends us. */
int
exec_prepared(const struct args *a, const char *command, const char **words, size_t n,
    int (*work)(struct client *, const struct args *, void *input))
{
	struct buf input = { 0 };
	struct err e;
	int        code = EXIT_BOXD;

	if (check(a, words, n, &e) == -1)
		return usage_error(command, &e);
	if (read_stdin(a, &input, &e) == -1)
		complain("%s", e.text);
	else
		code = cmd_interruptible(a, work, &input);
	buf_clear(&input);
	return code;
}
