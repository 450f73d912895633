#include "wire/link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/tally.h"

static const double LATER_SEC = 0.01;

struct queued {
	STAILQ_ENTRY(queued) next;
	struct packet packet;
};

struct link {
	struct ev_loop        *loop;
	int                    fd; /* owned */
	unsigned               from;
	pid_t                  peer; /* for the log; 0: unknown */
	struct tally           bad;  /* messages with a wrong field */
	const struct link_ops *ops;
	void                  *arg;
	ev_io                  reading; /* runs unless paused or gone */
	ev_io                  writing; /* runs while the queue is not empty, */
	ev_timer               later;   /* or this, when waiting for the socket would not help */
	STAILQ_HEAD(, queued) queue;
	size_t queued;
	bool   gone;   /* on_gone has been called */
	bool  *closed; /* set by link_close while a callback of ours is running */
};

/* Every link of the loop receives here: a message is handled before the next is read. */
static struct chan_in in;

static void
link_gone(struct link *l, const struct err *why)
{
	if (l->gone)
		return;
	l->gone = true;
	ev_io_stop(l->loop, &l->reading);
	ev_io_stop(l->loop, &l->writing);
	ev_timer_stop(l->loop, &l->later);
	l->ops->on_gone(l->arg, why);
}

static void
say_bad(struct link *l, const struct msg *m, const struct err *why)
{
	static const char *const kinds[] = {
		[ENV_REQUEST] = "request", [ENV_REPLY] = "reply", [ENV_NOTICE] = "notice"
	};

	if (tally_line(&l->bad, kinds[m->envelope]))
		log_error(
		    "worker=%d conn=%lu id=%lu bad %s: %s", l->peer, m->conn, m->id, kinds[m->envelope], why->text);
}

/* The envelope is whole and the content is wrong: that ends one request, and not the link. */
static void
take_bad(struct link *l, struct msg *m, const struct err *why)
{
	struct err e = { 0 };

	say_bad(l, m, why);
	if (l->ops->on_bad != NULL) {
		l->ops->on_bad(l->arg, why);
	} else if (m->envelope == ENV_REPLY) {
		m->failed = true;
		err_set(&m->error, E_CRASH, "the reply cannot be read: %.900s", why->text);
		l->ops->on_msg(l->arg, m);
	} else if (m->envelope == ENV_REQUEST && link_fail(l, m->id, m->conn, why, &e) == -1 && e.code == E_BUSY) {
		link_gone(l, &e); /* it asks, and does not read the answers */
	}
}

/* One packet; false when reading is over for now. */
static bool
receive(struct link *l)
{
	struct err e = { 0 };
	struct msg m;
	bool       closed = false;
	int        r = chan_recv(l->fd, &in, &m, l->from, &e);

	if (r == 1)
		return false;
	l->closed = &closed;
	if (r == 0)
		l->ops->on_msg(l->arg, &m);
	else if (r == -1 && m.whole)
		take_bad(l, &m, &e);
	else
		link_gone(l, &e);
	msg_clear(&m);
	if (closed)
		return false;
	l->closed = NULL;
	return ev_is_active(&l->reading);
}

static void
on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct link *l = w->data;

	for (int i = 0; i < LIM_LINK_BURST; i++)
		if (!receive(l))
			return;
}

static void
queue_pop(struct link *l)
{
	struct queued *q = STAILQ_FIRST(&l->queue);

	assert(q != NULL && l->queued > 0);
	STAILQ_REMOVE_HEAD(&l->queue, next);
	l->queued--;
	packet_clear(&q->packet);
	free(q);
}

static void
on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct link *l = w->data;
	struct err   e = { 0 };

	while (!STAILQ_EMPTY(&l->queue)) {
		int r = chan_send(l->fd, &STAILQ_FIRST(&l->queue)->packet, &e);
		if (r == 1)
			return;
		if (r == 2) {
			ev_io_stop(loop, w);
			ev_timer_start(loop, &l->later);
			return;
		}
		/* a peer that died may have last words for us: reading finds them, then the end */
		if (r == -1 && errno != EPIPE && errno != ECONNRESET) {
			link_gone(l, &e);
			return;
		}
		queue_pop(l);
	}
	ev_io_stop(loop, w);
}

static void
on_later(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct link *l = t->data;

	ev_io_start(loop, &l->writing);
}

struct link *
link_open(struct ev_loop *loop, int fd, unsigned from, const struct link_ops *ops, void *arg, struct err *e)
{
	struct link *l = calloc(1, sizeof(*l));

	assert(fd >= 0 && ops->on_msg != NULL && ops->on_gone != NULL);
	if (l == NULL) {
		err_set(e, E_SYS, "no memory for a link");
		return NULL;
	}
	l->loop = loop;
	l->fd = fd;
	l->from = from;
	l->ops = ops;
	l->arg = arg;
	tally_init(&l->bad, loop, "messages had a wrong field");
	STAILQ_INIT(&l->queue);
	ev_io_init(&l->reading, on_readable, fd, EV_READ);
	ev_io_init(&l->writing, on_writable, fd, EV_WRITE);
	ev_timer_init(&l->later, on_later, LATER_SEC, 0.);
	l->reading.data = l->writing.data = l->later.data = l;
	ev_io_start(loop, &l->reading);
	return l;
}

/* The socket did not take it now. */
static int
enqueue(struct link *l, struct packet *p, struct err *e)
{
	struct queued *q;

	if (l->queued >= LIM_LINK_QUEUE)
		return err_set(e, E_BUSY, "%zu messages wait for a process that does not read", l->queued);
	if ((q = calloc(1, sizeof(*q))) == NULL)
		return err_set(e, E_SYS, "no memory for a queued message");
	q->packet = *p;
	*p = (struct packet){ 0 };
	STAILQ_INSERT_TAIL(&l->queue, q, next);
	l->queued++;
	ev_io_start(l->loop, &l->writing);
	return 0;
}

/* on_gone reports a peer that went, too; both see the same end. */
int
link_send_packet(struct link *l, struct packet *p, struct err *e)
{
	int r = 1;

	assert(p->nfds <= LIM_PACKET_FDS + (size_t)p->spilled);
	if (l->gone)
		r = err_set(e, E_CRASH, "the process at the other end is gone");
	else if (STAILQ_EMPTY(&l->queue))
		r = chan_send(l->fd, p, e);
	if (r == -1 && (errno == EPIPE || errno == ECONNRESET))
		e->code = E_CRASH;
	if (r > 0)
		r = enqueue(l, p, e);
	packet_clear(p);
	return r;
}

int
link_send(struct link *l, enum msg_type t, uint64_t id, uint64_t conn, const void *body, struct err *e)
{
	struct packet p = { 0 };

	if (msg_check(t, body, e) == -1 || msg_encode(&p, t, id, conn, body, e) == -1) {
		packet_clear(&p);
		return -1;
	}
	return link_send_packet(l, &p, e);
}

int
link_reply(struct link *l, enum msg_type t, uint64_t id, uint64_t conn, const void *body, struct err *e)
{
	struct packet p = { 0 };

	if (msg_check(t, body, e) == -1 || msg_encode_reply(&p, t, id, conn, body, e) == -1) {
		packet_clear(&p);
		if (e->code == E_INVALID)
			e->code = E_CRASH; /* it is not the asker who is wrong */
		return -1;
	}
	return link_send_packet(l, &p, e);
}

int
link_fail(struct link *l, uint64_t id, uint64_t conn, const struct err *why, struct err *e)
{
	struct packet p = { 0 };

	if (msg_encode_error(&p, id, conn, why, e) == -1) {
		packet_clear(&p);
		return -1;
	}
	return link_send_packet(l, &p, e);
}

void
link_tell(struct link *l, enum msg_type t, uint64_t id, uint64_t conn, const void *body)
{
	struct err e;

	if (link_send(l, t, id, conn, body, &e) == -1)
		log_debug("worker=%d %s is lost: %s", l->peer, msg_name(t), e.text);
}

void
link_tell_reply(struct link *l, enum msg_type t, uint64_t id, uint64_t conn, const void *body)
{
	struct err e = { 0 };

	if (link_reply(l, t, id, conn, body, &e) == -1)
		link_tell_failure(l, id, conn, &e);
}

void
link_tell_failure(struct link *l, uint64_t id, uint64_t conn, const struct err *why)
{
	struct err e;

	if (link_fail(l, id, conn, why, &e) == -1)
		log_debug("worker=%d the failure of %lu is lost: %s", l->peer, id, e.text);
}

void
link_pause(struct link *l)
{
	ev_io_stop(l->loop, &l->reading);
}

void
link_resume(struct link *l)
{
	if (!l->gone)
		ev_io_start(l->loop, &l->reading);
}

void
link_name_peer(struct link *l, pid_t pid)
{
	l->peer = pid;
}

size_t
link_queued(const struct link *l)
{
	return l->queued;
}

void
link_close(struct link **lp)
{
	struct link *l = *lp;

	if (l == NULL)
		return;
	*lp = NULL;
	if (l->closed != NULL)
		*l->closed = true;
	ev_io_stop(l->loop, &l->reading);
	ev_io_stop(l->loop, &l->writing);
	ev_timer_stop(l->loop, &l->later);
	while (!STAILQ_EMPTY(&l->queue))
		queue_pop(l);
	assert(l->queued == 0);
	tally_clear(&l->bad);
	fd_close(&l->fd);
	free(l);
}
