/*
 * box-init alone, with managed processes: the real program as pid 1 of fresh
 * namespaces, and this test as its master.  What a worker relies on: rings by offset,
 * windows, input that never blocks, a polite end, and a next master that finds it all.
 */
#include "initstart.h"
#include "tap.h"
#include "wire/chan.h"

enum { CALLS = 8192, RING = 64 * 1024, PIPE = 64 * 1024 };

static char dir[] = "/tmp/boxd-t-managed.XXXXXX";

/* What was answered to one request. */
struct call {
	bool                   replied, failed;
	struct err             error;
	struct msg_managed     seen; /* its pointers are dead; see the blobs below */
	struct buf             about, out, err;
	struct msg_exec_result result;
	struct msg_followed    followed;
	size_t                 nknown;
	struct msg_resume      known[8];
	enum msg_type          type; /* what is expected */
};

struct box {
	pid_t          pid;
	int            chan;
	char           path[64];
	struct chan_in in;
	bool           ready, gone;
	uint64_t       next;
	uint64_t       stream; /* whose output is collected */
	struct buf     out;
	uint64_t       at; /* offset of out's first byte */
	bool           gap;
	struct call    calls[CALLS];
};

/* ---- a box ----------------------------------------------------------------------------- */

static struct box *
box_start(const char *program)
{
	static struct box b;

	snprintf(b.path, sizeof(b.path), "%s/socket", dir);
	b.pid = init_spawn(program, "mark", "60000", b.path, &b.chan);
	b.next = 1;
	return &b;
}

/* ---- talking to it --------------------------------------------------------------------- */

static struct call *
call_of(struct box *b, uint64_t id)
{
	must(id < CALLS, "too many requests");
	return &b->calls[id];
}

static void
heard_reply(struct call *c, struct msg *m)
{
	struct err e;

	c->replied = true;
	c->failed = m->failed;
	c->error = m->error;
	if (m->failed)
		return;
	must(msg_expect(m, c->type, &e) != -1, "a bad reply: %s", e.text);
	if (c->type == MSG_EXEC_RESULT)
		c->result = *(const struct msg_exec_result *)m->body;
	if (c->type == MSG_FOLLOWED)
		c->followed = *(const struct msg_followed *)m->body;
	if (c->type == MSG_MANAGED) {
		c->seen = *(const struct msg_managed *)m->body;
		blob_read(&c->seen.about, &c->about, &e);
		blob_read(&c->seen.stdout, &c->out, &e);
		blob_read(&c->seen.stderr, &c->err, &e);
	}
	if (c->type == MSG_ATTACHED) {
		const struct msg_attached *a = m->body;
		for (c->nknown = 0; c->nknown < a->execs.n && c->nknown < 8; c->nknown++)
			c->known[c->nknown] = a->execs.v[c->nknown];
	}
}

static void
heard_output(struct box *b, const struct msg_output *o)
{
	struct err e;

	if (o->call != b->stream)
		return;
	if (b->out.len == 0)
		b->at = o->offset;
	b->gap |= o->offset != b->at + b->out.len;
	blob_read(&o->data, &b->out, &e);
}

/* One message, if one comes within that time. */
static bool
listen_for(struct box *b, int ms)
{
	struct msg m;
	struct err e;

	if (poll(&(struct pollfd){ .fd = b->chan, .events = POLLIN }, 1, ms) == 0)
		return false;
	int r = chan_recv(b->chan, &b->in, &m, FROM_INIT, &e);
	if (r == 1)
		return true;
	must(r != -1, "init sent what it may not: %s", e.text);
	if (r == 2)
		b->gone = true;
	else if (m.envelope == ENV_REPLY)
		heard_reply(call_of(b, m.id), &m);
	else if (m.type == MSG_OUTPUT)
		heard_output(b, m.body);
	else if (m.type == MSG_INIT_READY)
		b->ready = true;
	msg_clear(&m);
	return !b->gone;
}

static void
send_msg(struct box *b, enum msg_type t, uint64_t id, const void *body)
{
	struct packet p = { 0 };
	struct err    e;

	must(msg_encode(&p, t, id, 0, body, &e) != -1, "encode: %s", e.text);
	while (chan_send(b->chan, &p, &e) == 1)
		listen_for(b, 10);
	packet_clear(&p);
}

static uint64_t
ask(struct box *b, enum msg_type t, const void *body)
{
	uint64_t     id = b->next++;
	struct call *c = call_of(b, id);

	buf_clear(&c->about);
	buf_clear(&c->out);
	buf_clear(&c->err);
	*c = (struct call){ .type = msg_def(t)->result };
	send_msg(b, t, id, body);
	return id;
}

static struct call *
await(struct box *b, uint64_t id)
{
	struct call *c = call_of(b, id);

	while (!c->replied && !b->gone)
		listen_for(b, -1);
	return c;
}

static struct call *
look(struct box *b, uint64_t exec)
{
	struct msg_look m = { .exec = exec, .stdout_last = LIM_RING, .stderr = true, .about = true };

	return await(b, ask(b, MSG_LOOK, &m));
}

/* A managed shell, going on with the output of another if that is not 0. */
static uint64_t
start_with(struct box *b, uint64_t before, const char *script, struct blob about, uint64_t window)
{
	const char      *argv[] = { "sh", "-c", script, NULL };
	const char      *env[] = { "PATH=/usr/bin:/bin", NULL };
	struct msg_spawn s;

	msg_defaults(MSG_SPAWN, &s);
	s.argv = (struct strs){ 3, argv };
	s.env = (struct strs){ 1, env };
	s.workdir = "/tmp";
	s.managed = true;
	s.ring_bytes = RING;
	s.continues = before;
	s.about = about;
	s.window = window;
	return ask(b, MSG_SPAWN, &s);
}

static uint64_t
start_after(struct box *b, uint64_t before, const char *script, struct blob about)
{
	return start_with(b, before, script, about, 0);
}

static uint64_t
start(struct box *b, const char *script)
{
	return start_after(b, 0, script, blob_of("about", 5));
}

static struct call *
follow(struct box *b, uint64_t exec, uint64_t offset, uint64_t window)
{
	struct msg_follow m = { .exec = exec, .offset = offset, .window = window };
	uint64_t          id = ask(b, MSG_FOLLOW, &m);

	b->stream = 0; /* what comes before the answer is of before */
	await(b, id);
	b->stream = exec;
	b->gap = false;
	buf_clear(&b->out);
	return call_of(b, id);
}

static void
ack(struct box *b, uint64_t exec, uint64_t offset)
{
	send_msg(
	    b, MSG_OUTPUT_ACK, 0, &(struct msg_output_ack){ .call = exec, .stream = STREAM_STDOUT, .offset = offset });
}

static void
await_bytes(struct box *b, size_t n)
{
	while (b->out.len < n && !b->gone)
		listen_for(b, -1);
}

static uint64_t
feed(struct box *b, uint64_t exec, const void *bytes, size_t n, bool eof)
{
	return ask(b, MSG_FEED, &(struct msg_feed){ .exec = exec, .data = blob_of(bytes, n), .eof = eof });
}

static uint64_t
terminate(struct box *b, uint64_t exec, uint64_t grace_ms)
{
	return ask(b, MSG_TERMINATE, &(struct msg_terminate){ .exec = exec, .grace_ms = grace_ms });
}

static void
release(struct box *b, uint64_t exec)
{
	send_msg(b, MSG_RELEASE, 0, &(struct msg_release){ .exec = exec });
}

/* What `seq 1 n` writes. */
static struct buf
numbers(int n)
{
	struct buf s = { 0 };

	for (int i = 1; i <= n; i++)
		buf_printf(&s, "%d\n", i);
	return s;
}

/* ---- the tests ----------------------------------------------------------------------------- */

static void
t_ring(struct box *b)
{
	struct buf   want = numbers(200000);
	uint64_t     id = start(b, "seq 1 200000; head -c 100000 /dev/zero | tr '\\0' e >&2; printf END >&2");
	struct call *r = await(b, id);

	cmp_ok(r->result.exit_code, "==", 0, "nobody reads, and it is not held up");
	cmp_ok(r->result.stdout_bytes, "==", want.len, "all of it is counted");
	struct call *c = look(b, id);
	uint64_t     held = c->seen.stdout_bytes - c->seen.stdout_from;
	ok(held >= RING && held <= RING + 32 * 1024, "the ring holds %lu bytes", held);
	ok(c->out.len == held && memcmp(c->out.data, want.data + c->seen.stdout_from, held) == 0, "its last ones");
	ok(c->err.len == LIM_PREVIEW && memcmp(c->err.data + c->err.len - 4, "eEND", 4) == 0,
	    "a burst on stderr leaves its last bytes");
	struct call *f = follow(b, id, 0, LIM_WINDOW);
	cmp_ok(f->followed.from, "==", c->seen.stdout_from, "from an offset that is gone: the oldest held");
	await_bytes(b, held);
	ok(!b->gap && memcmp(b->out.data, want.data + b->at, held) == 0, "it is handed out in order");
	f = follow(b, id, want.len - 5, LIM_WINDOW);
	await_bytes(b, 5);
	ok(b->at == want.len - 5 && b->out.len == 5, "from an offset that is held: exactly there");
	f = follow(b, id, UINT64_MAX, 1);
	ok(f->followed.from == want.len && f->followed.end == want.len, "from beyond the end: the end");
	release(b, id);
	ok(look(b, id)->failed, "released, it is not known");
	buf_clear(&want);
}

static void
t_window(struct box *b)
{
	uint64_t id = start(b, "read go; seq 1 200000; exec sleep 98765");

	follow(b, id, 0, 1000);
	feed(b, id, "go\n", 3, false);
	await_bytes(b, 1000);
	look(b, id);
	cmp_ok(b->out.len, "==", 1000, "no more than the window comes");
	ack(b, id, 400);
	await_bytes(b, 1400);
	look(b, id);
	cmp_ok(b->out.len, "==", 1400, "an acknowledgement lets more come");
	ack(b, id, 999999);
	await_bytes(b, 2400);
	look(b, id);
	cmp_ok(b->out.len, "==", 2400, "what was never sent cannot be acknowledged");
	uint64_t wrote = look(b, id)->seen.stdout_bytes;
	ok(wrote <= 1400 + RING + 4096, "the writer waits for its follower (%lu bytes)", wrote);
	send_msg(b, MSG_DETACH, 0, &(struct msg_detach){ .call = id });
	while (look(b, id)->seen.stdout_bytes < 1288895)
		poll(NULL, 0, 5);
	pass("and for nobody else");
	follow(b, id, 0, 1);
	terminate(b, id, 5000);
	cmp_ok(await(b, id)->result.signal, "==", 15, "its end does not wait for the follower");
	release(b, id);
}

/* However late the follower asks for it, the first byte is still there. */
static void
t_window_from_start(struct box *b)
{
	uint64_t id = start_with(b, 0, "seq 1 200000; exec sleep 98765", blob_of("about", 5), 1000);

	while (look(b, id)->seen.stdout_bytes < RING)
		poll(NULL, 0, 5);
	for (int i = 0; i < 100; i++) /* time to write all of it, if nothing keeps it */
		look(b, id);
	cmp_ok(look(b, id)->seen.stdout_from, "==", 0, "a window at the start keeps the first byte");
	cmp_ok(follow(b, id, 0, LIM_WINDOW)->followed.from, "==", 0, "for a follower that comes late");
	terminate(b, id, 5000);
	await(b, id);
	release(b, id);
}

static void
t_input(struct box *b)
{
	static char bytes[LIM_FEED];
	uint64_t    id = start(b, "exec cat");

	ok(!await(b, feed(b, id, "hello ", 6, false))->failed, "bytes are taken");
	ok(!await(b, feed(b, id, "world", 5, true))->failed, "and the end");
	cmp_ok(await(b, id)->result.exit_code, "==", 0, "which it sees");
	struct call *c = look(b, id);
	ok(c->out.len == 11 && memcmp(c->out.data, "hello world", 11) == 0, "it has read them");
	cmp_ok(c->seen.stdin_bytes, "==", 11, "they are counted");
	ok(await(b, feed(b, id, "x", 1, false))->failed, "an ended one takes none");
	release(b, id);

	id = start(b, "exec sleep 98765");
	for (int i = 0; i < PIPE / (int)sizeof(bytes); i++)
		await(b, feed(b, id, bytes, sizeof(bytes), false));
	uint64_t waits = feed(b, id, bytes, sizeof(bytes), false);
	c = await(b, feed(b, id, bytes, 1, false));
	ok(c->failed && c->error.code == E_BUSY, "a second one while the first waits is refused");
	look(b, id);
	ok(!call_of(b, waits)->replied, "one that does not fit into the pipe waits, and nobody else does");
	terminate(b, id, 5000);
	ok(await(b, waits)->failed, "until the process is ended");
	like(call_of(b, waits)->error.text, "being stopped", "which it is told");
	await(b, id);
	cmp_ok(look(b, id)->seen.stdin_bytes, "==", PIPE, "what was not written is not counted");
	release(b, id);

	id = start(b, "exec <&-; echo; exec sleep 98765");
	follow(b, id, 0, 10);
	await_bytes(b, 1);
	c = await(b, feed(b, id, "x", 1, false));
	ok(c->failed && strstr(c->error.text, "does not read") != NULL, "closed by the process: told");
	terminate(b, id, 0);
	await(b, id);
	release(b, id);
}

static void
t_end(struct box *b)
{
	uint64_t id = start(b, "trap 'exit 7' TERM; echo; while :; do sleep 0.05; done");

	follow(b, id, 0, 10);
	await_bytes(b, 1);
	ok(!await(b, terminate(b, id, 60000))->failed, "told to end");
	ok(await(b, terminate(b, id, 60000))->failed || call_of(b, id)->replied, "twice is once too often");
	cmp_ok(await(b, id)->result.exit_code, "==", 7, "it ends as it likes");
	ok(look(b, id)->seen.terminated, "that it was told is remembered");
	release(b, id);

	id = start(b, "trap '' TERM; (setsid sleep 98765 &); sleep 98765 & echo; wait; sleep 98765");
	follow(b, id, 0, 10);
	await_bytes(b, 1);
	terminate(b, id, 100);
	struct call *c = await(b, id);
	ok(c->result.signal == 9 && c->result.cause == CAUSE_CANCELLED, "one that does not listen is killed");
	cmp_ok(c->result.killed, ">=", 2, "with its tree");
	release(b, id);

	id = start(b, "(setsid sleep 98765 >/dev/null 2>&1 &); sleep 98765 & exit 3");
	c = await(b, id);
	ok(c->result.cause == CAUSE_EXIT && c->result.exit_code == 3, "one that exits has exited");
	cmp_ok(c->result.killed, "==", 2, "and what it left is killed");
	release(b, id);
}

static void
t_continue(struct box *b)
{
	uint64_t one = start(b, "echo one; echo err1 >&2");

	await(b, one);
	follow(b, one, 0, 100);
	await_bytes(b, 4);
	uint64_t two = start_after(b, one, "echo two; echo err2 >&2; exec sleep 98765", blob_of("second", 6));
	b->stream = two;
	await_bytes(b, 8);
	ok(!b->gap && memcmp(b->out.data, "one\ntwo\n", 8) == 0, "the follower sees one stream");
	ok(look(b, one)->failed, "the first is released");
	struct call *c = look(b, two);
	for (; c->err.len < 10; poll(NULL, 0, 5))
		c = look(b, two);
	ok(c->out.len == 8 && memcmp(c->err.data, "err1\nerr2\n", 10) == 0, "both streams go on");
	ok(c->about.len == 6 && memcmp(c->about.data, "second", 6) == 0, "with what was given to the second");
	c = await(b, start_after(b, two, "true", blob_of("", 0)));
	ok(c->failed && c->error.code == E_STATE, "one that runs cannot be continued");
	terminate(b, two, 0);
	await(b, two);
	uint64_t three = start_after(b, two, "exec /nowhere", blob_of("", 0));
	await(b, three);
	cmp_ok(look(b, three)->out.len, "==", 8, "a life that fails keeps the output of those before");
	release(b, three);
}

/* Somebody else's process is not one of these. */
static void
t_plain(struct box *b)
{
	const char      *argv[] = { "sleep", "98765", NULL };
	struct msg_spawn s;

	msg_defaults(MSG_SPAWN, &s);
	s.argv = (struct strs){ 2, argv };
	s.workdir = "/tmp";
	uint64_t id = ask(b, MSG_SPAWN, &s);
	ok(look(b, id)->failed, "a plain command cannot be looked at");
	ok(await(b, feed(b, id, "x", 1, false))->failed, "nor fed");
	ok(await(b, terminate(b, id, 0))->failed, "nor told to end");
	ok(await(b, start_after(b, id, "true", blob_of("", 0)))->failed, "nor continued");
	await(b, ask(b, MSG_CANCEL, &(struct msg_cancel){ .call = id }));
	await(b, id);
	release(b, id);
}

static struct call *
reconnect(struct box *b)
{
	struct msg_attach none = { 0 };

	close(b->chan);
	b->chan = init_connect(b->path);
	return await(b, ask(b, MSG_ATTACH, &none));
}

static void
t_next_master(struct box *b)
{
	static char about[100000], bytes[LIM_FEED];
	struct buf  want = numbers(200000);

	for (size_t i = 0; i < sizeof(about); i++)
		about[i] = (char)i;
	uint64_t ended = start(b, "echo gone; exit 4");
	uint64_t flows = start_after(b, 0, "read go; seq 1 200000; exec sleep 98765", blob_of(about, sizeof(about)));
	uint64_t deaf = start(b, "sleep 98765 & wait");
	await(b, ended);
	for (int i = 0; i < PIPE / (int)sizeof(bytes); i++)
		await(b, feed(b, deaf, bytes, sizeof(bytes), false));
	feed(b, deaf, bytes, 100, false);
	send_msg(b, MSG_REMEMBER, 0, &(struct msg_remember){ .exec = deaf, .about = blob_of("new", 3) });
	follow(b, flows, 0, 5000);
	feed(b, flows, "go\n", 3, false);
	await_bytes(b, 5000);
	ack(b, flows, 3000);
	look(b, flows);

	call_of(b, ended)->replied = false;
	struct call *a = reconnect(b);
	bool         all = a->nknown == 3;
	for (size_t i = 0; i < a->nknown; i++)
		all = all && a->known[i].managed;
	ok(all, "the next master is told of all three");
	cmp_ok(await(b, ended)->result.exit_code, "==", 4, "and of the end again");
	struct call *c = look(b, ended);
	ok(c->seen.ended && c->seen.ended_ms >= c->seen.started_ms && c->seen.started_ms > 0, "with its times");
	c = look(b, flows);
	ok(!c->seen.ended && c->about.len == sizeof(about) && memcmp(c->about.data, about, sizeof(about)) == 0,
	    "what the first master left is given back");
	cmp_ok(c->seen.stdout_bytes, "<", want.len, "the writer still waits for what was not acknowledged");
	follow(b, flows, 3000, LIM_WINDOW);
	await_bytes(b, want.len - 3000);
	ok(b->at == 3000 && !b->gap && memcmp(b->out.data, want.data + 3000, want.len - 3000) == 0,
	    "so nothing is lost on the way");
	c = look(b, deaf);
	ok(c->about.len == 3 && memcmp(c->about.data, "new", 3) == 0, "what was left anew is what counts");
	cmp_ok(c->seen.stdin_bytes, "==", PIPE + 100, "bytes on their way stay on it");
	ok(await(b, feed(b, deaf, "x", 1, false))->failed, "and the next have to wait");
	buf_clear(&want);
}

/* Without reading an answer; false: init does not read any more. */
static bool
send_blindly(struct box *b, enum msg_type t, const void *body)
{
	struct packet p = { 0 };
	struct err    e;
	int           r = -1;

	if (msg_encode(&p, t, b->next++, 0, body, &e) == 0)
		while ((r = chan_send(b->chan, &p, &e)) == 1 &&
		       poll(&(struct pollfd){ .fd = b->chan, .events = POLLOUT }, 1, 500) == 1)
			;
	packet_clear(&p);
	return r == 0;
}

/* Init reads nothing that it could not answer; what waits in front of it is heard when its master goes. */
static void
t_last_words(struct box *b)
{
	enum { ANSWERS = 400 }; /* more than a socket holds, and less than two do */
	uint64_t id = start(b, "exec sleep 98765");

	look(b, id);
	for (int i = 0; i < ANSWERS && send_blindly(b, MSG_PING, &(struct msg_ping){}); i++)
		;
	ok(send_blindly(b, MSG_REMEMBER, &(struct msg_remember){ .exec = id, .about = blob_of("last", 4) }),
	    "a master that reads no answers says one thing more, and is gone");
	reconnect(b);
	struct call *c = look(b, id);
	ok(c->about.len == 4 && memcmp(c->about.data, "last", 4) == 0, "it was heard");
}

int
main(void)
{
	const char *env = getenv("BOX_INIT");
	char       *program = realpath(env != NULL ? env : "build/box-init", NULL);
	char        clean[64];
	int         status;

	must(program != NULL && mkdtemp(dir) != NULL, "box-init: %s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
	struct box *b = box_start(program);
	while (!b->ready && !b->gone)
		listen_for(b, -1);
	if (!b->ready) {
		waitpid(b->pid, &status, 0);
		int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
		if (code != INIT_NO_NAMESPACES && code != INIT_NO_PROC)
			BAIL_OUT("init did not start: %d", code);
		plan(SKIP_ALL, "no user namespaces, or no fresh /proc, here");
	}
	t_ring(b);
	t_window(b);
	t_window_from_start(b);
	t_input(b);
	t_end(b);
	t_continue(b);
	t_plain(b);
	t_next_master(b);
	t_last_words(b);
	kill(b->pid, SIGKILL);
	waitpid(b->pid, &status, 0);
	free(program);
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	if (system(clean) != 0)
		diag("could not remove %s", dir);
	done_testing();
}
