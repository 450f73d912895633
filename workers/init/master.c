/*
 * Nothing is ever sent that would have to wait in a queue: outputs and results stay
 * with their commands until the socket takes them, and a request is read only
 * when its answer can be sent.  So all that waits here is the one packet that the
 * socket refused.  When a master goes it is dropped with the connection, because
 * the next one says in ATTACH from where to go on, and gets all results again.  What
 * the master said before it went is heard to its end first: it counts on that.
 *
 * Until then a new master gets nothing and may not spawn; what happened before
 * it came would only confuse it.
 *
 * Only somebody from outside may connect.  The socket's path is not visible inside,
 * and a process of the sandbox would show a pid that we can see.
 */
#include "master.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "wire/chan.h"

#define RETRY_NS 100000000LL /* when there was no memory for a message */

struct master {
	struct source      source;   /* the connection; owned; -1 while not connected */
	struct source      listener; /* owned */
	struct loop       *loop;
	struct execs      *execs;
	struct chan_in     in;
	struct packet      stuck; /* refused by the socket, to be sent first */
	bool               is_stuck;
	bool               attached; /* it knows what is running */
	bool               gone;     /* it is only heard out: nothing can be said to it */
	struct net_sockets kept;
	int64_t            orphan_ns;
	int64_t            missing_ns; /* when we end unless somebody comes; NEVER while connected */
	int64_t            retry_ns;
};

/* ---- sending ------------------------------------------------------------------------- */

static void
drop_stuck(struct master *m)
{
	packet_clear(&m->stuck);
	m->is_stuck = false;
}

static void
lose(struct master *m)
{
	drop_stuck(m);
	loop_close(m->loop, &m->source);
	m->attached = false;
	m->missing_ns = now_ns() + m->orphan_ns;
}

/* Read while we could answer; else wait until we can. */
static void
watch(struct master *m)
{
	struct err e;

	if (m->source.fd != -1 && loop_watch(m->loop, &m->source, m->is_stuck ? EPOLLOUT : EPOLLIN, &e) == -1)
		lose(m);
}

/* Send what is in m->stuck, or leave it there for later. */
static void
push(struct master *m)
{
	struct err e;

	if (m->gone) {
		drop_stuck(m);
		return;
	}
	int r = chan_send(m->source.fd, &m->stuck, &e);
	if (r == -1 && (errno == EPIPE || errno == ECONNRESET)) {
		drop_stuck(m);
		m->attached = false; /* the loop reports next that it is gone; then its last messages are read */
		watch(m);
		return;
	}
	if (r == -1) {
		lose(m);
		return;
	}
	if (r == 0)
		drop_stuck(m);
	else
		m->is_stuck = true;
	watch(m);
}

static void
call_answer(struct master *m, enum msg_type result, uint64_t id, const void *body)
{
	struct err e;

	if (msg_encode_reply(&m->stuck, result, id, 0, body, &e) == -1)
		lose(m); /* a request without an answer would wait for ever */
	else
		push(m);
}

static void
call_refuse(struct master *m, uint64_t id, const struct err *why)
{
	struct err e;

	if (msg_encode_error(&m->stuck, id, 0, why, &e) == -1)
		lose(m);
	else
		push(m);
}

void
master_flush(struct master *m)
{
	struct err e;

	m->retry_ns = NEVER;
	while (m->source.fd != -1 && m->attached && !m->is_stuck) {
		int r = execs_next(m->execs, &m->stuck, &e);
		if (r == 0)
			break;
		if (r == -1) {
			drop_stuck(m);
			m->retry_ns = now_ns() + RETRY_NS;
			break;
		}
		push(m);
	}
}

/* ---- what it may ask ------------------------------------------------------------------ */

static int
on_spawn(struct master *m, struct msg *msg, struct err *e)
{
	if (!m->attached)
		return err_set(e, E_STATE, "attach first");
	return execs_spawn(m->execs, msg, e); /* answered when it ends */
}

static int
on_cancel(struct master *m, struct msg *msg, struct err *e)
{
	const struct msg_cancel *body = msg->body;

	if (execs_cancel(m->execs, body->call, e) == -1)
		return -1;
	call_answer(m, MSG_DONE, msg->id, &(struct msg_done){});
	return 0;
}

static int
on_attach(struct master *m, struct msg *msg, struct err *e)
{
	struct msg_attached known;

	if (execs_attach(m->execs, msg->body, &known, e) == -1)
		return -1;
	known.net_listener = m->kept.listener;
	known.net_dns = m->kept.dns;
	known.net_refusals = m->kept.refusals;
	m->attached = true;
	call_answer(m, MSG_ATTACHED, msg->id, &known);
	free(known.execs.v);
	return 0;
}

static int
on_output_ack(struct master *m, struct msg *msg, struct err *e)
{
	return execs_ack(m->execs, msg->body, e);
}

static int
on_detach(struct master *m, struct msg *msg, struct err *e)
{
	return execs_detach(m->execs, ((const struct msg_detach *)msg->body)->call, e);
}

static int
on_release(struct master *m, struct msg *msg, struct err *e)
{
	return execs_release(m->execs, ((const struct msg_release *)msg->body)->exec, e);
}

static int
on_look(struct master *m, struct msg *msg, struct err *e)
{
	struct buf         bytes[2] = { { 0 }, { 0 } };
	struct msg_managed found;

	if (execs_look(m->execs, msg->body, &found, bytes, e) == -1)
		return -1;
	call_answer(m, MSG_MANAGED, msg->id, &found);
	buf_clear(&bytes[0]);
	buf_clear(&bytes[1]);
	return 0;
}

static int
on_remember(struct master *m, struct msg *msg, struct err *e)
{
	return execs_remember(m->execs, msg->body, e);
}

static int
on_feed(struct master *m, struct msg *msg, struct err *e)
{
	return execs_feed(m->execs, msg->id, msg->body, e); /* answered when the bytes are in the pipe */
}

static int
on_follow(struct master *m, struct msg *msg, struct err *e)
{
	struct msg_followed from;

	if (execs_follow(m->execs, msg->body, &from, e) == -1)
		return -1;
	call_answer(m, MSG_FOLLOWED, msg->id, &from);
	return 0;
}

static int
on_terminate(struct master *m, struct msg *msg, struct err *e)
{
	if (execs_terminate(m->execs, msg->body, e) == -1)
		return -1;
	call_answer(m, MSG_DONE, msg->id, &(struct msg_done){});
	return 0;
}

static int
on_ping(struct master *m, struct msg *msg, struct err *e)
{
	struct msg_pong pong = { .version = BOXD_VERSION };

	call_answer(m, MSG_PONG, msg->id, &pong);
	return 0;
}

static int (*const on[MSG__COUNT])(struct master *, struct msg *, struct err *) = {
	[MSG_PING] = on_ping,
	[MSG_SPAWN] = on_spawn,
	[MSG_CANCEL] = on_cancel,
	[MSG_ATTACH] = on_attach,
	[MSG_OUTPUT_ACK] = on_output_ack,
	[MSG_DETACH] = on_detach,
	[MSG_RELEASE] = on_release,
	[MSG_LOOK] = on_look,
	[MSG_REMEMBER] = on_remember,
	[MSG_FEED] = on_feed,
	[MSG_FOLLOW] = on_follow,
	[MSG_TERMINATE] = on_terminate,
};

/*
 * A failed notice has nobody to be told: it names a command that was released or
 * ended while the notice was on its way.
 */
static void
dispatch(struct master *m, struct msg *msg)
{
	struct err e = { 0 };
	int        r;

	if (msg->envelope == ENV_REPLY)
		return; /* we ask nothing */
	if (on[msg->type] == NULL)
		r = err_set(&e, E_PROTO, "init takes no %s", msg_name(msg->type));
	else
		r = on[msg->type](m, msg, &e);
	if (r == -1 && msg->envelope == ENV_REQUEST && m->source.fd != -1)
		call_refuse(m, msg->id, &e);
}

/* ---- receiving -------------------------------------------------------------------------- */

/* One message; false when there is no more for now. */
static bool
receive(struct master *m)
{
	struct err e = { 0 };
	struct msg msg;
	int        r = chan_recv(m->source.fd, &m->in, &msg, FROM_WORKER, &e);

	if (r == 1)
		return false;
	if (r == 0)
		dispatch(m, &msg);
	else if (r == -1 && msg.whole && msg.envelope == ENV_REQUEST)
		call_refuse(m, msg.id, &e);
	else if (!msg.whole)
		lose(m);
	msg_clear(&msg);
	return m->source.fd != -1 && !m->is_stuck;
}

/* All that is still to be read of one that went, or is replaced. */
static void
hear_out(struct master *m)
{
	drop_stuck(m);
	m->gone = true;
	for (int i = 0; i < LIM_LINK_QUEUE && m->source.fd != -1; i++)
		if (!receive(m))
			break;
	m->gone = false;
	lose(m);
}

static void
on_ready(struct source *s, uint32_t events)
{
	struct master *m = (struct master *)s; /* its first member */

	if (events & (EPOLLERR | EPOLLHUP)) {
		hear_out(m);
		return;
	}
	if (m->is_stuck)
		push(m);
	for (int i = 0; i < LIM_LINK_BURST && m->source.fd != -1 && !m->is_stuck; i++)
		if (!receive(m))
			break;
}

/* ---- coming and going ------------------------------------------------------------------- */

static void
adopt(struct master *m, int fd)
{
	assert(m->source.fd <= 0 && fd >= 0); /* the one before is closed */
	m->source = (struct source){ .fd = fd, .ready = on_ready };
	m->missing_ns = NEVER;
	watch(m);
}

static bool
is_from_outside(int fd)
{
	struct ucred who;
	socklen_t    n = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 && who.pid == 0;
}

static void
on_connect(struct source *s, uint32_t events)
{
	struct master *m = (struct master *)((char *)s - offsetof(struct master, listener));
	AUTO_FD int    fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd == -1 || !is_from_outside(fd))
		return;
	hear_out(m);
	adopt(m, fd_take(&fd));
}

struct master *
master_open(struct loop *l, struct execs *x, int listener, int first, const struct net_sockets *kept, int64_t orphan_ns,
    struct err *e)
{
	struct master *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	m->loop = l;
	m->execs = x;
	m->kept = *kept;
	m->orphan_ns = orphan_ns;
	m->retry_ns = NEVER;
	m->attached = true; /* nothing has happened that it does not know */
	m->listener = (struct source){ .fd = listener, .ready = on_connect };
	if (loop_watch(l, &m->listener, EPOLLIN, e) == -1) {
		free(m);
		return NULL;
	}
	adopt(m, first);
	return m;
}

int
master_greet(struct master *m, struct err *e)
{
	struct msg_init_ready ready = {
		.net_listener = m->kept.listener,
		.net_dns = m->kept.dns,
		.net_refusals = m->kept.refusals,
	};

	if (msg_encode(&m->stuck, MSG_INIT_READY, 0, 0, &ready, e) == -1)
		return -1;
	push(m);
	return 0;
}

bool
master_is_missing(const struct master *m)
{
	return now_ns() >= m->missing_ns;
}

int64_t
master_wake(const struct master *m)
{
	return m->retry_ns < m->missing_ns ? m->retry_ns : m->missing_ns;
}

void
master_rest(struct master *m)
{
	chan_in_clear(&m->in);
}
