#include "initbox.h"

#include "base/fd.h"
#include "initstart.h"
#include "tap.h"

const char *box_program;
char        box_self[PATH_MAX];
char        box_dir[] = "/tmp/boxd-t-init.XXXXXX";
char        box_cgroups[PATH_MAX];

static _Noreturn void
die(const char *what)
{
	BAIL_OUT("%s: %s", what, strerror(errno));
}

struct box *
box_start(const char *mode, const char *orphan_ms)
{
	static int  n;
	struct box *b = calloc(1, sizeof(*b));

	b->by_cgroup = strcmp(mode, "cgroup") == 0;
	snprintf(b->path, sizeof(b->path), "%s/%d", box_dir, n++);
	b->pid = init_spawn(box_program, mode, orphan_ms, b->path, &b->chan);
	b->next = 1;
	return b;
}

static void remove_cgroups(const struct box *);

/* Wait until the outer process, and so init, is gone; its status. */
int
box_end(struct box *b)
{
	int status;

	waitpid(b->pid, &status, 0);
	remove_cgroups(b);
	close(b->chan);
	chan_in_clear(&b->in);
	for (size_t i = 0; i < CALLS; i++) {
		buf_clear(&b->calls[i].out[0]);
		buf_clear(&b->calls[i].out[1]);
	}
	free(b);
	return status;
}

/* Init reads no request that it could not answer: whoever cannot write must go on reading. */
void
send_msg(struct box *b, enum msg_type t, uint64_t id, const void *body)
{
	struct packet p = { 0 };
	struct err    e;
	int           r;

	must(msg_encode(&p, t, id, 0, body, &e) != -1, "encode: %s", e.text);
	while ((r = chan_send(b->chan, &p, &e)) == 1) {
		struct pollfd f = { .fd = b->chan, .events = POLLIN | POLLOUT };

		poll(&f, 1, -1);
		if (f.revents & POLLIN)
			listen_once(b);
	}
	packet_clear(&p);
	if (r == -1)
		diag("%s", e.text);
}

void
ack(struct box *b, uint64_t id, enum stream s)
{
	send_msg(
	    b, MSG_OUTPUT_ACK, 0, &(struct msg_output_ack){ .call = id, .stream = s, .offset = b->calls[id].at[s] });
}

static void
heard_output(struct box *b, const struct msg_output *o)
{
	struct call *c = &b->calls[o->call];
	struct err   e;

	c->gap |= c->at[o->stream] != o->offset;
	blob_read(&o->data, &c->out[o->stream], &e);
	c->at[o->stream] = o->offset + o->data.len;
	if (!b->no_acks)
		ack(b, o->call, o->stream);
}

static void
heard_result(struct call *c, struct msg *m)
{
	struct err e;

	must(msg_expect(m, MSG_EXEC_RESULT, &e) != -1, "a bad result: %s", e.text);
	c->r = *(const struct msg_exec_result *)m->body;
	snprintf(c->text, sizeof(c->text), "%s", c->r.error);
	blob_read(&c->r.stdout, &c->out[0], &e);
	blob_read(&c->r.stderr, &c->out[1], &e);
}

static void
heard_attached(struct box *b, struct msg *m)
{
	struct err e;

	must(msg_expect(m, MSG_ATTACHED, &e) != -1, "a bad attached: %s", e.text);
	const struct msg_attached *a = m->body;
	b->nknown = a->execs.n;
	for (size_t i = 0; i < a->execs.n && i < 16; i++)
		b->known[i] = a->execs.v[i];
	b->attach = 0;
}

/* Requests that are not execs have ids above those that are. */
static void
heard_reply(struct box *b, struct msg *m)
{
	struct call *c = &b->calls[m->id % CALLS];

	c->replied = true;
	c->failed = m->failed;
	c->error = m->error;
	if (m->failed)
		return;
	if (b->attach == m->id)
		heard_attached(b, m);
	else if (m->id < CALLS / 2)
		heard_result(c, m);
}

/* Wait for one message and take note of it. */
void
listen_once(struct box *b)
{
	struct msg m;
	struct err e;

	poll(&(struct pollfd){ .fd = b->chan, .events = POLLIN }, 1, -1);
	int r = chan_recv(b->chan, &b->in, &m, FROM_INIT, &e);
	if (r == 1)
		return;
	must(r != -1, "init sent what it may not: %s", e.text);
	if (r == 2)
		b->gone = true;
	else if (m.envelope == ENV_REPLY)
		heard_reply(b, &m);
	else if (m.type == MSG_OUTPUT)
		heard_output(b, m.body);
	else if (m.type == MSG_INIT_READY)
		b->ready = true;
	else if (m.type == MSG_INIT_FAILED) {
		b->failed = true;
		snprintf(b->reason, sizeof(b->reason), "%s", ((const struct msg_init_failed *)m.body)->reason);
	}
	msg_clear(&m);
}

static int
make_cgroup(const struct box *b, uint64_t id)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%d-%lu", box_cgroups, (int)b->pid, id);
	if (mkdir(path, 0755) == -1)
		die(path);
	return open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

static int
remove_cgroup(const struct box *b, uint64_t id)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%d-%lu", box_cgroups, (int)b->pid, id);
	return rmdir(path) == 0 || errno == ENOENT ? 0 : -1;
}

/* When all are dead or dying. */
static void
remove_cgroups(const struct box *b)
{
	for (uint64_t id = 1; b->by_cgroup && id < b->next; id++)
		while (remove_cgroup(b, id) == -1 && errno == EBUSY)
			poll(NULL, 0, 1);
}

uint64_t
start_as(struct box *b, uint64_t id, const char *script, const struct opts *o)
{
	const char      *argv[] = { "sh", "-c", script, NULL };
	const char      *env[] = { "PATH=/nonexistent:/usr/bin:/bin", "A=1", NULL };
	struct msg_spawn s;
	size_t           n = 0;

	msg_defaults(MSG_SPAWN, &s);
	s.argv.v = o->argv != NULL ? (const char **)o->argv : argv;
	while (s.argv.v[n] != NULL)
		n++;
	s.argv.n = n;
	s.env = (struct strs){ 2, env };
	s.workdir = o->workdir != NULL ? o->workdir : "/tmp";
	s.timeout_ms = o->timeout_ms;
	s.window = o->window;
	s.keep_bytes = o->keep != 0 ? o->keep : MIB;
	s.stdin = o->in != 0 ? o->in : -1;
	AUTO_FD int cgroup = b->by_cgroup && !o->no_cgroup ? make_cgroup(b, id) : -1;
	s.cgroup = cgroup;
	send_msg(b, MSG_SPAWN, id, &s);
	return id;
}

uint64_t
start(struct box *b, const char *script, struct opts o)
{
	return start_as(b, b->next++, script, &o);
}

uint64_t
start_self(struct box *b, const char *what, const char *arg, struct opts o)
{
	const char *argv[] = { box_self, what, arg, NULL };

	o.argv = argv;
	return start(b, NULL, o);
}

void
release(struct box *b, uint64_t id)
{
	send_msg(b, MSG_RELEASE, 0, &(struct msg_release){ .exec = id });
	if (b->by_cgroup)
		remove_cgroup(b, id); /* unless it left somebody behind */
}

struct call *
await(struct box *b, uint64_t id)
{
	struct call *c = &b->calls[id % CALLS];

	while (!c->replied && !b->gone)
		listen_once(b);
	for (int i = 0; i < 2; i++) /* so that it can be compared as a string */
		buf_append(&c->out[i], "", 1), c->out[i].len--;
	return c;
}

struct call *
finish(struct box *b, uint64_t id)
{
	struct call *c = await(b, id);

	release(b, id);
	return c;
}

void
await_bytes(struct box *b, uint64_t id, size_t n)
{
	while (b->calls[id].out[0].len < n && !b->gone)
		listen_once(b);
}

struct call *
cancel(struct box *b, uint64_t exec)
{
	uint64_t id = CALLS / 2 + b->next++;

	b->calls[id].replied = false;
	send_msg(b, MSG_CANCEL, id, &(struct msg_cancel){ .call = exec });
	return await(b, id);
}

void
reconnect(struct box *b)
{
	close(b->chan);
	b->chan = init_connect(b->path);
	b->gone = false;
}

void
attach(struct box *b, struct msg_resume *v, size_t n)
{
	struct msg_attach a = { .execs = { n, v } };

	b->attach = CALLS / 2 + b->next++;
	send_msg(b, MSG_ATTACH, b->attach, &a);
	while (b->attach != 0 && !b->gone)
		listen_once(b);
}
