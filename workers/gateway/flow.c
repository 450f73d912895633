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

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/log.h"
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
may_read(const struct flow *f)
{
	return f->holds == 0 && f->state == OPEN;
}

static void
watch_input(struct flow *f)
{
	if (!may_read(f)) {
		ev_io_stop(f->loop, &f->reading);
		ev_timer_stop(f->loop, &f->deadline);
		return;
	}
	if (ev_is_active(&f->reading))
		return;
	ev_io_start(f->loop, &f->reading);
	if (f->owed_sec > 0)
		ev_timer_again(f->loop, &f->deadline);
	flow_again(f); /* messages may be waiting that no new byte will announce */
}

void
flow_again(struct flow *f)
{
	if (f->in.len > 0 && may_read(f))
		ev_feed_event(f->loop, &f->reading, EV_READ);
}

void
flow_owe(struct flow *f, double sec)
{
	if (f->owed_sec == sec)
		return;
	f->owed_sec = sec;
	f->deadline.repeat = sec;
	if (sec > 0 && may_read(f))
		ev_timer_again(f->loop, &f->deadline);
	else
		ev_timer_stop(f->loop, &f->deadline);
}

static const char *
leaving(int error)
{
	return error == EPIPE || error == ECONNRESET ? "client left" : strerror(error);
}

/* ---- endings ----------------------------------------------------------------- */

static void
end_silently(struct flow *f)
{
	f->state = ENDED;
	ev_io_stop(f->loop, &f->reading);
	ev_io_stop(f->loop, &f->writing);
	ev_timer_stop(f->loop, &f->deadline);
	ev_timer_stop(f->loop, &f->stall);
	shutdown(f->fd, SHUT_RDWR);
	ev_timer_start(f->loop, &f->end);
}

static void
end(struct flow *f, const char *reason)
{
	if (f->state == ENDED)
		return;
	/* one that is finishing has told its reason */
	log_debug("conn=%lu closed reason=\"%s\"", f->id, log_escape(reason, strlen(reason)));
	end_silently(f);
}

void
flow_drop(struct flow *f, const char *reason)
{
	end(f, reason);
}

static void
on_end(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct flow *f = w->data;

	f->ops->on_gone(f->arg);
}

/* All is said. */
static void
said_all(struct flow *f)
{
	if (!f->parts || shutdown(f->fd, SHUT_WR) == -1) {
		end_silently(f);
		return;
	}
	f->state = PARTING;
	ev_io_start(f->loop, &f->reading);
	f->deadline.repeat = LIM_PART_SEC;
	ev_timer_again(f->loop, &f->deadline);
}

static void push_out(struct flow *f);

static void
flow_wind_up(struct flow *f, const char *reason, bool parts)
{
	if (f->state >= FINISHING)
		return;
	if (f->tls != NULL && !tls_is_up(f->tls)) { /* there is no way yet to say anything */
		end(f, reason);
		return;
	}
	log_debug("conn=%lu closed reason=\"%s\"", f->id, log_escape(reason, strlen(reason)));
	f->state = FINISHING;
	f->parts = parts;
	watch_input(f);
	if (f->tls != NULL && f->out_bytes == 0) /* else seal does it */
		tls_bye(f->tls, &f->sealed);
	push_out(f);
}

void
flow_finish(struct flow *f, const char *reason)
{
	flow_wind_up(f, reason, false);
}

void
flow_part(struct flow *f, const char *reason)
{
	flow_wind_up(f, reason, true);
}

/* ---- bytes in ----------------------------------------------------------------- */

/* Drop what was taken, and the memory a large message needed. */
static void
forget(struct flow *f, size_t n)
{
	size_t     rest = f->in.len - n;
	struct buf small = { 0 };

	assert(n <= f->in.len);
	if (rest == 0 || f->state >= FINISHING) {
		buf_clear(&f->in);
		return;
	}
	if (n == 0)
		return;
	if (rest > f->in.cap / 4) {
		buf_drop(&f->in, n);
		return;
	}
	buf_append(&small, f->in.data + n, rest);
	if (small.failed)
		end(f, "no memory");
	buf_clear(&f->in);
	f->in = small;
}

static void
offer(struct flow *f)
{
	size_t used = 0;

	while (may_read(f) && used < f->in.len) {
		const struct flow_ops *who = f->ops;
		size_t                 n = who->on_bytes(f->arg, f->in.data + used, f->in.len - used);

		assert(n <= f->in.len - used);
		used += n;
		if (n == 0 && f->ops == who)
			break;
	}
	forget(f, used);
}

static void
unseal(struct flow *f, const char *bytes, size_t n)
{
	struct err e;

	if (tls_receive(f->tls, bytes, n, &f->in, &f->sealed, &e) == 0) {
		if (f->sealed.len > 0)
			push_out(f);
		return;
	}
	/* an alert: one try, for the client may not even be there */
	if (f->sealed.len > 0)
		(void)!send(f->fd, f->sealed.data, f->sealed.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	end(f, e.text);
}

/* One read; false when there was nothing. */
static bool
fill(struct flow *f)
{
	static char scratch[READ_BYTES]; /* every flow of the loop reads through it */
	ssize_t     n = recv(f->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		end(f, n == -1 ? leaving(errno) : f->in.len > 0 ? "client left inside a message" : "client left");
		return false;
	}
	if (f->tls != NULL)
		unseal(f, scratch, (size_t)n);
	else
		buf_append(&f->in, scratch, (size_t)n);
	if (f->in.failed)
		end(f, "no memory");
	return true;
}

/* Bytes that are not wanted any more. */
static void
discard(struct flow *f)
{
	static char scratch[READ_BYTES];
	ssize_t     n = recv(f->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
		end_silently(f);
}

static void
on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct flow *f = w->data;

	if (f->state == PARTING) {
		discard(f);
		return;
	}
	offer(f); /* what a hold left behind; more is read only when that is done */
	if (may_read(f) && fill(f))
		offer(f);
}

static void
on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct flow *f = w->data;

	ev_timer_stop(loop, w);
	if (f->state == PARTING)
		end_silently(f);
	else
		f->ops->on_deadline(f->arg);
}

void
flow_hold(struct flow *f, enum flow_hold why)
{
	f->holds |= why;
	if (f->state == OPEN)
		watch_input(f);
}

void
flow_release(struct flow *f, enum flow_hold why)
{
	if (!(f->holds & why))
		return;
	f->holds &= ~(unsigned)why;
	if (f->state == OPEN)
		watch_input(f);
}

bool
flow_is_read(const struct flow *f)
{
	return may_read(f);
}

/* ---- bytes out ---------------------------------------------------------------- */

size_t
flow_queued(const struct flow *f)
{
	return f->out_bytes + f->sealed.len;
}

static int
gather(struct flow *f, struct iovec *iov)
{
	size_t        skip = f->out_sent;
	int           n = 0;
	struct chunk *k;

	if (f->tls != NULL) {
		iov[0] = (struct iovec){ f->sealed.data, f->sealed.len };
		return 1;
	}
	TAILQ_FOREACH (k, &f->out, next) {
		if (n == OUT_IOV)
			break;
		iov[n++] = (struct iovec){ k->bytes.data + skip, k->bytes.len - skip };
		skip = 0;
	}
	return n;
}

/* The first n bytes of the queue are done with. */
static void
wrote(struct flow *f, size_t n)
{
	assert(n <= f->out_bytes);
	f->out_bytes -= n;
	f->out_sent += n;
	while (!TAILQ_EMPTY(&f->out)) {
		struct chunk *k = TAILQ_FIRST(&f->out);

		if (f->out_sent < k->bytes.len)
			break;
		f->out_sent -= k->bytes.len;
		TAILQ_REMOVE(&f->out, k, next);
		buf_clear(&k->bytes);
		free(k);
	}
	assert(!TAILQ_EMPTY(&f->out) || (f->out_bytes == 0 && f->out_sent == 0));
}

/* Some of the queue; and, when that was the last of a flow that finishes, goodbye. */
static int
seal(struct flow *f, struct err *e)
{
	while (f->sealed.len < SEAL_BYTES && f->out_bytes > 0) {
		struct chunk *k = TAILQ_FIRST(&f->out);
		size_t        n = k->bytes.len - f->out_sent;

		if (n > CHUNK_BYTES)
			n = CHUNK_BYTES;
		if (tls_say(f->tls, k->bytes.data + f->out_sent, n, &f->sealed, e) == -1)
			return -1;
		wrote(f, n);
	}
	if (f->out_bytes == 0 && f->state == FINISHING)
		tls_bye(f->tls, &f->sealed);
	return 0;
}

static void
sent(struct flow *f, size_t n)
{
	if (f->tls == NULL)
		wrote(f, n);
	else if (n == f->sealed.len)
		buf_clear(&f->sealed);
	else
		buf_drop(&f->sealed, n);
}

/* What went out: > 0 some bytes, 0 none could, -1 the flow has ended. */
static int
flush(struct flow *f)
{
	struct iovec iov[OUT_IOV];
	struct err   e;
	int          some = 0;

	for (int i = 0; i < OUT_TURNS && flow_queued(f) > 0; i++) {
		if (f->tls != NULL && f->sealed.len == 0 && seal(f, &e) == -1) {
			end(f, e.text);
			return -1;
		}
		struct msghdr h = { .msg_iov = iov, .msg_iovlen = (size_t)gather(f, iov) };
		ssize_t       n = sendmsg(f->fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1) {
			end(f, leaving(errno));
			return -1;
		}
		sent(f, (size_t)n);
		some = 1;
	}
	return some;
}

static void
watch_output(struct flow *f, bool progress)
{
	size_t queued = flow_queued(f);

	if (queued == 0) {
		ev_io_stop(f->loop, &f->writing);
		ev_timer_stop(f->loop, &f->stall);
	} else {
		ev_io_start(f->loop, &f->writing);
		if (progress || !ev_is_active(&f->stall))
			ev_timer_again(f->loop, &f->stall);
	}
	if (queued > LIM_CONN_HIGH)
		flow_hold(f, HOLD_OUTPUT);
	else if (queued <= LIM_CONN_HIGH / 2)
		flow_release(f, HOLD_OUTPUT);
}

static void
push_out(struct flow *f)
{
	int progress = flush(f);

	if (progress == -1)
		return;
	watch_output(f, progress > 0);
	if (flow_queued(f) == 0 && f->state == FINISHING)
		said_all(f);
}

static void
on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct flow *f = w->data;
	size_t       before = flow_queued(f);

	push_out(f);
	if (f->state == OPEN && f->ops->on_drained != NULL && flow_queued(f) < before && flow_queued(f) <= LIM_CONN_LOW)
		f->ops->on_drained(f->arg);
}

static void
on_stall(struct ev_loop *loop, ev_timer *w, int revents)
{
	end(w->data, "client does not read");
}

/* Behind the last chunk, or into it: a chunk per small message would cost far more than its bytes. */
static void
enqueue(struct flow *f, struct buf *b)
{
	struct chunk *last = TAILQ_LAST(&f->out, chunks);

	if (last != NULL && last->bytes.len + b->len <= CHUNK_BYTES) {
		buf_append(&last->bytes, b->data, b->len);
		if (last->bytes.failed)
			end(f, "no memory");
		else
			f->out_bytes += b->len;
		return;
	}
	struct chunk *k = calloc(1, sizeof(*k));
	if (k == NULL) {
		end(f, "no memory");
		return;
	}
	f->out_bytes += b->len;
	k->bytes = *b;
	*b = (struct buf){ 0 };
	TAILQ_INSERT_TAIL(&f->out, k, next);
}

void
flow_send(struct flow *f, struct buf *b)
{
	bool idle = flow_queued(f) == 0;

	/*
	 * The queue is measured before the message, so that one reply larger than
	 * the limit (64 MiB of each stream can be asked for) still reaches a client
	 * that reads.
	 */
	if (flow_queued(f) > LIM_CONN_OUT)
		end(f, "too much output is waiting for it");
	if (f->tls != NULL && !tls_is_up(f->tls))
		end(f, "no TLS yet");
	if (f->state == OPEN && b->len > 0) {
		enqueue(f, b);
		if (idle && f->state != ENDED)
			push_out(f); /* most replies fit the socket: no round through the loop */
		else if (f->state != ENDED)
			watch_output(f, false);
	}
	buf_clear(b);
}

/* ---- open, pass on, close --------------------------------------------------------- */

struct flow *
flow_open(struct ev_loop *loop, int fd, uint64_t id, struct tls_keys *keys, const struct flow_ops *ops, void *arg,
    struct err *e)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (f == NULL || (keys != NULL && (f->tls = tls_open(keys, e)) == NULL)) {
		free(f);
		err_set(e, E_SYS, "no memory for a connection");
		return NULL;
	}
	f->loop = loop;
	f->fd = fd;
	f->id = id;
	f->ops = ops;
	f->arg = arg;
	TAILQ_INIT(&f->out);
	ev_io_init(&f->reading, on_readable, fd, EV_READ);
	ev_io_init(&f->writing, on_writable, fd, EV_WRITE);
	ev_timer_init(&f->deadline, on_deadline, 0., 0.);
	ev_timer_init(&f->stall, on_stall, 0., LIM_STALL_SEC);
	ev_timer_init(&f->end, on_end, 0., 0.);
	f->reading.data = f->writing.data = f->deadline.data = f->stall.data = f->end.data = f;
	watch_input(f);
	return f;
}

void
flow_pass(struct flow *f, uint64_t id, const struct flow_ops *ops, void *arg)
{
	f->id = id;
	f->ops = ops;
	f->arg = arg;
}

int
flow_fd(const struct flow *f)
{
	return f->fd;
}

void
flow_close(struct flow **fp)
{
	struct flow *f = *fp;

	if (f == NULL)
		return;
	*fp = NULL;
	if (f->state != ENDED)
		end_silently(f);
	ev_timer_stop(f->loop, &f->end);
	fd_close(&f->fd);
	wrote(f, f->out_bytes);
	buf_clear(&f->in);
	buf_clear(&f->sealed);
	tls_close(&f->tls);
	free(f);
}
