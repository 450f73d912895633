/*
 * One write is on its way at a time: its answer says that the process's pipe has
 * taken it, so a process that does not read holds up our reading and nothing else.
 * Output is acknowledged when it is written, so it is held up by whoever reads ours.
 */
#include "cmd/relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "copy/sink.h"
#include "text.h"

#define WINDOW MIB

struct run {
	struct client      *client;
	const struct relay *what;
	uint64_t            attach, write; /* requests under way; 0: none */
	bool                started;       /* the first output came */
	bool                fed;           /* nothing more to write */
	bool                ended, failed;
	struct err          why;
	int                 code; /* of a process that has ended */
	struct sink         out;
	char                bytes[64 * KIB];
};

static void
end_with(struct run *r, const struct err *why)
{
	r->ended = r->failed = true;
	r->why = *why;
}

/* ---- in ---- */

static void
send_write(struct run *r, size_t n, bool eof)
{
	struct msg_process_write w = { r->what->session, r->what->process, blob_of(r->bytes, n), eof };
	struct err               e;

	if (client_send(r->client, MSG_PROCESS_WRITE, &w, &r->write, &e) == -1)
		end_with(r, &e);
}

static void
on_stdin(struct run *r)
{
	ssize_t    n = read(STDIN_FILENO, r->bytes, sizeof(r->bytes));
	struct err e;

	if (n > 0) {
		send_write(r, (size_t)n, false);
	} else if (n == 0) {
		r->fed = true;
		if (r->what->eof)
			send_write(r, 0, true);
	} else if (errno != EINTR && errno != EAGAIN) {
		err_sys(&e, "read standard input");
		end_with(r, &e);
	}
}

/* The process may have ended, or closed its input: what it says is then still of interest. */
static void
on_written(struct run *r, const struct msg *m)
{
	r->write = 0;
	if (!m->failed)
		return;
	r->fed = true;
	if (r->attach == 0)
		end_with(r, &m->error);
	else
		complain("%s", m->error.text);
}

/* ---- out ---- */

static void
acknowledge(struct run *r)
{
	struct msg_output_ack a = { .call = r->attach, .stream = STREAM_STDOUT, .offset = sink_written(&r->out) };
	struct err            e;

	if (r->ended || a.offset - r->out.acked < WINDOW / 4)
		return;
	r->out.acked = a.offset;
	if (client_send(r->client, MSG_OUTPUT_ACK, &a, NULL, &e) == -1)
		end_with(r, &e);
}

static void
on_output(struct run *r, const struct msg_output *o)
{
	struct err e;

	if (o->call != r->attach)
		return;
	if (!r->started) { /* the stream begins where the process's ring does */
		r->started = true;
		r->out.got = r->out.acked = o->offset;
	}
	if (sink_push(&r->out, o->offset, &o->data, &e) == -1)
		end_with(r, &e);
}

static int
exit_code(const struct msg_process_info *p)
{
	if (*p->error != '\0')
		complain("process %s: %s", p->process, p->error);
	if (p->cause == CAUSE_MEMORY)
		complain("process %s was killed: its memory limit, or the session's, was reached", p->process);
	return p->exit_code >= 0 ? (int)p->exit_code : 128 + (int)p->signal;
}

static void
on_attach_reply(struct run *r, struct msg *m)
{
	struct err e;

	r->ended = true;
	if (m->failed)
		end_with(r, &m->error);
	else if (msg_expect(m, MSG_PROCESS_INFO, &e) == -1)
		end_with(r, &e);
	else
		r->code = exit_code(m->body);
}

static void
on_socket(struct run *r)
{
	struct msg m;
	struct err e;
	int        got = 0;

	if (client_fill(r->client, &e) == -1) {
		end_with(r, &e);
		return;
	}
	while (!r->ended && (got = client_take(r->client, &m, &e)) == 0) {
		if (m.envelope == ENV_REPLY && m.id == r->attach)
			on_attach_reply(r, &m);
		else if (m.envelope == ENV_REPLY && m.id == r->write)
			on_written(r, &m);
		else if (m.type == MSG_OUTPUT)
			on_output(r, m.body);
		msg_clear(&m);
	}
	if (got == -1)
		end_with(r, &e);
}

/* ---- both ---- */

static bool
is_done(const struct run *r)
{
	bool written = !sink_waits(&r->out);

	if (r->what->reads)
		return r->ended && written;
	return r->ended || (r->fed && r->write == 0);
}

static void
loop(struct run *r)
{
	struct interrupt *in = r->client->interrupt;

	while (in->count == 0 && r->out.failed == 0 && !is_done(r)) {
		bool          feeds = r->what->feeds && !r->fed && r->write == 0 && !r->ended;
		struct pollfd p[] = {
			{ .fd = in->fd, .events = POLLIN },
			{ .fd = r->ended ? -1 : r->client->fd, .events = POLLIN },
			{ .fd = sink_waits(&r->out) ? r->out.fd : -1, .events = POLLOUT },
			{ .fd = feeds ? STDIN_FILENO : -1, .events = POLLIN },
		};

		if (poll(p, 4, -1) == -1)
			continue; /* EINTR, the only one with valid arguments */
		if (p[0].revents != 0)
			interrupt_read(in);
		if (p[1].revents != 0)
			on_socket(r);
		if (p[2].revents != 0) {
			sink_flush(&r->out);
			acknowledge(r);
		}
		if (p[3].revents != 0)
			on_stdin(r);
	}
}

static int
verdict(const struct run *r)
{
	if (r->client->interrupt->count > 0)
		return 128 + r->client->interrupt->signal; /* detached; it runs on */
	if (r->out.failed == EPIPE)
		return 128 + SIGPIPE;
	if (r->out.failed != 0)
		complain("write standard output: %s", strerror(r->out.failed));
	else if (r->failed)
		complain("%s", r->why.text);
	else
		return r->code;
	return r->client->broken || r->out.failed != 0 ? EXIT_BOXD : EXIT_REFUSED;
}

int
relay_run(struct client *c, const struct args *a, const struct relay *what)
{
	struct run                r = { .client = c, .what = what };
	struct msg_process_attach ask = {
		.session = what->session, .process = what->process, .stdout_offset = a->from, .window = WINDOW
	};
	struct err e;

	sink_init(&r.out, STDOUT_FILENO, STREAM_STDOUT, "stdout");
	if (what->reads && client_send(c, MSG_PROCESS_ATTACH, &ask, &r.attach, &e) == -1)
		end_with(&r, &e);
	loop(&r);
	sink_clear(&r.out);
	return verdict(&r);
}
