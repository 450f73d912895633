/*
 * The life of a client's socket:
 *
 *	OPEN -> FINISHING (-> PARTING) -> ENDED -> closed by its owner
 *
 * FINISHING lasts until the queue is out, PARTING until the client has closed too.  Any state may fall to ENDED:
 * the client left, was too slow, or took too much.
 *
 * Memory follows what has arrived, never what was announced: bytes are appended as they come.  A flow with
 * nothing unread or unsent has no buffer at all.  With TLS the queue stays plain; only as much as fits a socket is
 * sealed at a time.
 *
 * The supervisor holds a copy of the socket while it asks who is there, so close(2) alone would not reach the
 * client: shutdown(2) comes first.  The end is then told by a timer of no length, because libev polls once before it
 * runs, sees the hang-up nobody wants and takes the socket out of its epoll set while the descriptor is still
 * ours.  (Otherwise it must rebuild the set.)
 */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "bounds.h"
#include "fd.h"
#include "log.h"
#include "tls.h"

enum {
	READ_BYTES = 64 * 1024,
	CHUNK_BYTES = 16 * 1024, /* small messages share a chunk up to this */
	SEAL_BYTES = 64 * 1024,  /* sealed at a time */
	OUT_IOV = 32,
	OUT_TURNS = 16, /* writes before other clients get their turn */
};

struct chunk {
	TAILQ_ENTRY(chunk) next;
	struct buf bytes;
};

TAILQ_HEAD(chunks, chunk);

struct flow {
	struct ev_loop        *loop;
	int                    fd; /* owned */
	uint64_t               id;
	const struct flow_ops *ops;
	void                  *arg;
	enum { OPEN, FINISHING, PARTING, ENDED } state;
	bool          parts;     /* FINISHING leads to PARTING */
	unsigned      holds;     /* enum flow_hold */
	struct tls   *tls;       /* owned; NULL: plain */
	struct buf    in;        /* what nobody has taken yet */
	struct chunks out;       /* owned */
	size_t        out_bytes; /* not yet written or sealed, of all chunks */
	size_t        out_sent;  /* already so, of the first chunk */
	struct buf    sealed;    /* TLS: on its way out */
	double        owed_sec;  /* 0: the client owes us nothing */
	ev_io         reading;   /* runs while may_read, and in PARTING */
	ev_io         writing;   /* runs while something is queued */
	ev_timer      deadline;  /* runs while the client owes us bytes; in PARTING, its end */
	ev_timer      stall;     /* runs while something is queued; again with every byte */
	ev_timer      end;       /* runs in ENDED until on_gone */
};

static bool
may_read(const struct flow *s)
{
	return s->holds == 0 && s->state == OPEN;
}

static void
watch_input(struct flow *s)
{
	if (!may_read(s)) {
		ev_io_stop(s->loop, &s->reading);
		ev_timer_stop(s->loop, &s->deadline);
		return;
	}
	if (ev_is_active(&s->reading))
		return;
	ev_io_start(s->loop, &s->reading);
	if (s->owed_sec > 0)
		ev_timer_again(s->loop, &s->deadline);
	if (s->in.len > 0) /* messages may be waiting that no new byte will announce */
		ev_feed_event(s->loop, &s->reading, EV_READ);
}

void
flow_owe(struct flow *s, double sec)
{
	if (s->owed_sec == sec)
		return;
	s->owed_sec = sec;
	s->deadline.repeat = sec;
	if (sec > 0 && may_read(s))
		ev_timer_again(s->loop, &s->deadline);
	else
		ev_timer_stop(s->loop, &s->deadline);
}

static const char *
leaving(int error)
{
	return error == EPIPE || error == ECONNRESET ? "client left" : strerror(error);
}

/* ---- endings ----------------------------------------------------------------- */

static void
end_silently(struct flow *s)
{
	s->state = ENDED;
	ev_io_stop(s->loop, &s->reading);
	ev_io_stop(s->loop, &s->writing);
	ev_timer_stop(s->loop, &s->deadline);
	ev_timer_stop(s->loop, &s->stall);
	shutdown(s->fd, SHUT_RDWR);
	ev_timer_start(s->loop, &s->end);
}

static void
end(struct flow *s, const char *reason)
{
	if (s->state == ENDED)
		return;
	/* one that is finishing has told its reason */
	log_debug("conn=%lu closed reason=\"%s\"", s->id, log_escape(reason, strlen(reason)));
	end_silently(s);
}

void
flow_drop(struct flow *s, const char *reason)
{
	end(s, reason);
}

static void
on_end(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct flow *s = w->data;

	(void)loop;
	(void)revents;
	s->ops->on_gone(s->arg);
}

/* All is said. */
static void
said_all(struct flow *s)
{
	if (!s->parts || shutdown(s->fd, SHUT_WR) == -1) {
		end_silently(s);
		return;
	}
	s->state = PARTING;
	ev_io_start(s->loop, &s->reading);
	s->deadline.repeat = LIM_PART_SEC;
	ev_timer_again(s->loop, &s->deadline);
}

static void push_out(struct flow *s);

static void
finish(struct flow *s, const char *reason, bool parts)
{
	if (s->state >= FINISHING)
		return;
	if (s->tls != NULL && !tls_is_up(s->tls)) { /* there is no way yet to say anything */
		end(s, reason);
		return;
	}
	log_debug("conn=%lu closed reason=\"%s\"", s->id, log_escape(reason, strlen(reason)));
	s->state = FINISHING;
	s->parts = parts;
	watch_input(s);
	if (s->tls != NULL && s->out_bytes == 0) /* else seal does it */
		tls_bye(s->tls, &s->sealed);
	push_out(s);
}

void
flow_finish(struct flow *s, const char *reason)
{
	finish(s, reason, false);
}

void
flow_part(struct flow *s, const char *reason)
{
	finish(s, reason, true);
}

/* ---- bytes in ----------------------------------------------------------------- */

/* Drop what was taken, and the memory a large message needed. */
static void
forget(struct flow *s, size_t n)
{
	size_t     rest = s->in.len - n;
	struct buf small = { 0 };

	if (rest == 0 || s->state >= FINISHING) {
		buf_clear(&s->in);
		return;
	}
	if (n == 0)
		return;
	if (rest > s->in.cap / 4) {
		buf_drop(&s->in, n);
		return;
	}
	buf_append(&small, s->in.data + n, rest);
	if (small.failed)
		end(s, "no memory");
	buf_clear(&s->in);
	s->in = small;
}

static void
offer(struct flow *s)
{
	size_t used = 0;

	while (may_read(s) && used < s->in.len) {
		const struct flow_ops *who = s->ops;
		size_t                 n = who->on_bytes(s->arg, s->in.data + used, s->in.len - used);

		used += n;
		if (n == 0 && s->ops == who)
			break;
	}
	forget(s, used);
}

static void
unseal(struct flow *s, const char *bytes, size_t n)
{
	struct err e;

	if (tls_receive(s->tls, bytes, n, &s->in, &s->sealed, &e) == 0) {
		if (s->sealed.len > 0)
			push_out(s);
		return;
	}
	/* an alert: one try, for the client may not even be there */
	if (s->sealed.len > 0)
		(void)!send(s->fd, s->sealed.data, s->sealed.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	end(s, e.text);
}

/* One read; false when there was nothing. */
static bool
fill(struct flow *s)
{
	static char scratch[READ_BYTES]; /* every flow of the loop reads through it */
	ssize_t     n = recv(s->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		end(s, n == -1 ? leaving(errno) : s->in.len > 0 ? "client left inside a message" : "client left");
		return false;
	}
	if (s->tls != NULL)
		unseal(s, scratch, (size_t)n);
	else
		buf_append(&s->in, scratch, (size_t)n);
	if (s->in.failed)
		end(s, "no memory");
	return true;
}

/* Bytes that are not wanted any more. */
static void
discard(struct flow *s)
{
	static char scratch[READ_BYTES];
	ssize_t     n = recv(s->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
		end_silently(s);
}

static void
on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct flow *s = w->data;

	(void)loop;
	(void)revents;
	if (s->state == PARTING) {
		discard(s);
		return;
	}
	offer(s); /* what a hold left behind; more is read only when that is done */
	if (may_read(s) && fill(s))
		offer(s);
}

static void
on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct flow *s = w->data;

	(void)revents;
	ev_timer_stop(loop, w);
	if (s->state == PARTING)
		end_silently(s);
	else
		s->ops->on_deadline(s->arg);
}

void
flow_hold(struct flow *s, enum flow_hold why)
{
	s->holds |= why;
	if (s->state == OPEN)
		watch_input(s);
}

void
flow_release(struct flow *s, enum flow_hold why)
{
	if (!(s->holds & why))
		return;
	s->holds &= ~(unsigned)why;
	if (s->state == OPEN)
		watch_input(s);
}

bool
flow_is_read(const struct flow *s)
{
	return may_read(s);
}

/* ---- bytes out ---------------------------------------------------------------- */

size_t
flow_queued(const struct flow *s)
{
	return s->out_bytes + s->sealed.len;
}

static int
gather(struct flow *s, struct iovec *iov)
{
	size_t        skip = s->out_sent;
	int           n = 0;
	struct chunk *k;

	if (s->tls != NULL) {
		iov[0] = (struct iovec){ s->sealed.data, s->sealed.len };
		return 1;
	}
	TAILQ_FOREACH (k, &s->out, next) {
		if (n == OUT_IOV)
			break;
		iov[n++] = (struct iovec){ k->bytes.data + skip, k->bytes.len - skip };
		skip = 0;
	}
	return n;
}

/* The first n bytes of the queue are done with. */
static void
wrote(struct flow *s, size_t n)
{
	s->out_bytes -= n;
	s->out_sent += n;
	while (!TAILQ_EMPTY(&s->out)) {
		struct chunk *k = TAILQ_FIRST(&s->out);

		if (s->out_sent < k->bytes.len)
			break;
		s->out_sent -= k->bytes.len;
		TAILQ_REMOVE(&s->out, k, next);
		buf_clear(&k->bytes);
		free(k);
	}
}

/* Some of the queue; and, when that was the last of a flow that finishes, goodbye. */
static int
seal(struct flow *s, struct err *e)
{
	while (s->sealed.len < SEAL_BYTES && s->out_bytes > 0) {
		struct chunk *k = TAILQ_FIRST(&s->out);
		size_t        n = k->bytes.len - s->out_sent;

		if (n > CHUNK_BYTES)
			n = CHUNK_BYTES;
		if (tls_say(s->tls, k->bytes.data + s->out_sent, n, &s->sealed, e) == -1)
			return -1;
		wrote(s, n);
	}
	if (s->out_bytes == 0 && s->state == FINISHING)
		tls_bye(s->tls, &s->sealed);
	return 0;
}

static void
sent(struct flow *s, size_t n)
{
	if (s->tls == NULL)
		wrote(s, n);
	else if (n == s->sealed.len)
		buf_clear(&s->sealed);
	else
		buf_drop(&s->sealed, n);
}

/* What went out: > 0 some bytes, 0 none could, -1 the flow has ended. */
static int
flush(struct flow *s)
{
	struct iovec iov[OUT_IOV];
	struct err   e;
	int          some = 0;

	for (int i = 0; i < OUT_TURNS && flow_queued(s) > 0; i++) {
		if (s->tls != NULL && s->sealed.len == 0 && seal(s, &e) == -1) {
			end(s, e.text);
			return -1;
		}
		struct msghdr h = { .msg_iov = iov, .msg_iovlen = (size_t)gather(s, iov) };
		ssize_t       n = sendmsg(s->fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1) {
			end(s, leaving(errno));
			return -1;
		}
		sent(s, (size_t)n);
		some = 1;
	}
	return some;
}

static void
watch_output(struct flow *s, bool progress)
{
	size_t queued = flow_queued(s);

	if (queued == 0) {
		ev_io_stop(s->loop, &s->writing);
		ev_timer_stop(s->loop, &s->stall);
	} else {
		ev_io_start(s->loop, &s->writing);
		if (progress || !ev_is_active(&s->stall))
			ev_timer_again(s->loop, &s->stall);
	}
	if (queued > LIM_CONN_HIGH)
		flow_hold(s, HOLD_OUTPUT);
	else if (queued <= LIM_CONN_HIGH / 2)
		flow_release(s, HOLD_OUTPUT);
}

static void
push_out(struct flow *s)
{
	int progress = flush(s);

	if (progress == -1)
		return;
	watch_output(s, progress > 0);
	if (flow_queued(s) == 0 && s->state == FINISHING)
		said_all(s);
}

static void
on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct flow *s = w->data;
	size_t       before = flow_queued(s);

	(void)loop;
	(void)revents;
	push_out(s);
	if (s->state == OPEN && s->ops->on_drained != NULL && flow_queued(s) < before && flow_queued(s) <= LIM_CONN_LOW)
		s->ops->on_drained(s->arg);
}

static void
on_stall(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	end(w->data, "client does not read");
}

/* Behind the last chunk, or into it: a chunk per small message would cost far more than its bytes. */
static void
enqueue(struct flow *s, struct buf *b)
{
	struct chunk *last = TAILQ_LAST(&s->out, chunks);

	if (last != NULL && last->bytes.len + b->len <= CHUNK_BYTES) {
		buf_append(&last->bytes, b->data, b->len);
		if (last->bytes.failed)
			end(s, "no memory");
		else
			s->out_bytes += b->len;
		return;
	}
	struct chunk *k = calloc(1, sizeof(*k));
	if (k == NULL) {
		end(s, "no memory");
		return;
	}
	s->out_bytes += b->len;
	k->bytes = *b;
	*b = (struct buf){ 0 };
	TAILQ_INSERT_TAIL(&s->out, k, next);
}

void
flow_send(struct flow *s, struct buf *b)
{
	bool idle = flow_queued(s) == 0;

	/*
	 * The queue is measured before the message, so that one reply larger than
	 * the limit (64 MiB of each stream can be asked for) still reaches a client
	 * that reads.
	 */
	if (flow_queued(s) > LIM_CONN_OUT)
		end(s, "too much output is waiting for it");
	if (s->tls != NULL && !tls_is_up(s->tls))
		end(s, "no TLS yet");
	if (s->state == OPEN && b->len > 0) {
		enqueue(s, b);
		if (idle && s->state != ENDED)
			push_out(s); /* most replies fit the socket: no round through the loop */
		else if (s->state != ENDED)
			watch_output(s, false);
	}
	buf_clear(b);
}

/* ---- open, pass on, close --------------------------------------------------------- */

struct flow *
flow_open(struct ev_loop *loop, int fd, uint64_t id, struct tls_keys *keys, const struct flow_ops *ops, void *arg,
    struct err *e)
{
	struct flow *s = calloc(1, sizeof(*s));

	if (s == NULL || (keys != NULL && (s->tls = tls_open(keys, e)) == NULL)) {
		free(s);
		err_set(e, E_SYS, "no memory for a connection");
		return NULL;
	}
	s->loop = loop;
	s->fd = fd;
	s->id = id;
	s->ops = ops;
	s->arg = arg;
	TAILQ_INIT(&s->out);
	ev_io_init(&s->reading, on_readable, fd, EV_READ);
	ev_io_init(&s->writing, on_writable, fd, EV_WRITE);
	ev_timer_init(&s->deadline, on_deadline, 0., 0.);
	ev_timer_init(&s->stall, on_stall, 0., LIM_STALL_SEC);
	ev_timer_init(&s->end, on_end, 0., 0.);
	s->reading.data = s->writing.data = s->deadline.data = s->stall.data = s->end.data = s;
	watch_input(s);
	return s;
}

void
flow_pass(struct flow *s, uint64_t id, const struct flow_ops *ops, void *arg)
{
	s->id = id;
	s->ops = ops;
	s->arg = arg;
}

int
flow_fd(const struct flow *s)
{
	return s->fd;
}

void
flow_close(struct flow **sp)
{
	struct flow *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	if (s->state != ENDED)
		end_silently(s);
	ev_timer_stop(s->loop, &s->end);
	fd_close(&s->fd);
	wrote(s, s->out_bytes);
	buf_clear(&s->in);
	buf_clear(&s->sealed);
	tls_close(&s->tls);
	free(s);
}
