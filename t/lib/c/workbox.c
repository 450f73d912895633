#include "workbox.h"

#include "tap.h"

void
workbox_start(struct workbox *b, unsigned from, int channel, char *const argv[], void (*prepare)(void))
{
	const char *build = getenv("BUILD");
	char        program[PATH_MAX];
	struct err  e;
	int         ends[2];

	*b = (struct workbox){ .from = from, .next_id = 1 };
	snprintf(program, sizeof(program), "%s/%s", build != NULL ? build : "build", argv[0]);
	must(chan_pair(ends, &e) != -1, "%s", e.text);
	b->pid = fork();
	if (b->pid == 0) {
		dup2(ends[1], channel);
		if (prepare != NULL)
			prepare();
		execv(program, argv);
		_exit(127);
	}
	close(ends[1]);
	b->channel = ends[0];
}

int
workbox_end(struct workbox *b, bool by_force)
{
	int status = -1;

	if (by_force)
		kill(b->pid, SIGKILL);
	close(b->channel);
	msg_clear(&b->reply);
	chan_in_clear(&b->in);
	while (waitpid(b->pid, &status, 0) == -1 && errno == EINTR)
		;
	return status;
}

uint64_t
workbox_send(struct workbox *b, enum msg_type t, const void *body)
{
	struct packet p = { 0 };
	struct err    e;
	int           r = msg_encode(&p, t, b->next_id, 0, body, &e);

	while (r == 0 && (r = chan_send(b->channel, &p, &e)) == 1) {
		poll(&(struct pollfd){ .fd = b->channel, .events = POLLOUT }, 1, -1);
		r = 0;
	}
	must(r != -1, "send %s: %s", msg_name(t), e.text);
	packet_clear(&p);
	return b->next_id++;
}

int
workbox_receive(struct workbox *b, struct err *e)
{
	int r;

	msg_clear(&b->reply);
	while ((r = chan_recv(b->channel, &b->in, &b->reply, b->from, e)) == 1)
		poll(&(struct pollfd){ .fd = b->channel, .events = POLLIN }, 1, -1);
	return r;
}

const char *
workbox_take(struct workbox *b, uint64_t id, enum msg_type result)
{
	struct err e = { 0 };
	int        r = workbox_receive(b, &e);

	b->why[0] = '\0';
	if (r != 0)
		snprintf(b->why, sizeof(b->why), "gone: %s", e.text);
	else if (b->reply.envelope != ENV_REPLY || b->reply.id != id)
		snprintf(b->why, sizeof(b->why), "answer %lu, not %lu", b->reply.id, id);
	else if (b->reply.failed)
		snprintf(b->why, sizeof(b->why), "%s: %s", err_wire_name(b->reply.error.code), b->reply.error.text);
	else if (msg_expect(&b->reply, result, &e) == -1)
		snprintf(b->why, sizeof(b->why), "bad answer: %s", e.text);
	return b->why;
}
