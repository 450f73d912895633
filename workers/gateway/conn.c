/*
 * The life of a client's socket:
 *
 *	GREETING -> OPEN -> FINISHING -> ENDED -> closed by its owner
 *
 * GREETING lasts until the first whole frame, FINISHING until the queue is out.
 * Any state may fall to ENDED: the client left, was too slow, or took too much.
 *
 * Memory follows what has arrived, never what was announced: a frame's bytes are
 * appended as they come and the scanner goes on where it stopped.  A conn
 * without a frame in the making has no buffer at all.
 *
 * The supervisor holds a copy of the socket while it asks who is there, so
 * close(2) alone would not reach the client: shutdown(2) comes first.  The end
 * is then told by a timer of no length, because libev polls once before it
 * runs, sees the hang-up nobody wants and takes the socket out of its epoll
 * set while the descriptor is still ours.  (Otherwise it must rebuild the set.)
 */
#include "conn.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "fd.h"
#include "log.h"
#include "mp.h"

enum {
	READ_BYTES = 64 * 1024,
	CHUNK_BYTES = 16 * 1024, /* small messages share a chunk up to this */
	OUT_IOV = 32,
	OUT_TURNS = 16, /* writes before other clients get their turn */
};

struct chunk {
	TAILQ_ENTRY(chunk) next;
	struct buf bytes;
};

TAILQ_HEAD(chunks, chunk);

struct conn {
	struct ev_loop        *loop;
	int                    fd; /* owned */
	uint64_t               id;
	const struct conn_ops *ops;
	void                  *arg;
	enum { GREETING, OPEN, FINISHING, ENDED } state;
	unsigned       holds;     /* enum conn_hold */
	struct buf     in;        /* a frame that is not whole yet, or frames behind a hold */
	struct mp_scan scan;      /* of the frame at the front of in */
	struct chunks  out;       /* owned */
	size_t         out_bytes; /* not yet written, of all chunks */
	size_t         out_sent;  /* already written, of the first chunk */
	ev_io          reading;   /* runs while may_read */
	ev_io          writing;   /* runs while out is not empty */
	ev_timer       deadline;  /* runs while the client owes us the rest of a frame */
	ev_timer       stall;     /* runs while out is not empty; again with every byte */
	ev_timer       end;       /* runs in ENDED until on_gone */
};

static bool
may_read(const struct conn *c)
{
	return c->holds == 0 && c->state <= OPEN;
}

static void
watch_input(struct conn *c)
{
	if (!may_read(c)) {
		ev_io_stop(c->loop, &c->reading);
		return;
	}
	if (ev_is_active(&c->reading))
		return;
	ev_io_start(c->loop, &c->reading);
	if (c->in.len > 0) /* frames may be waiting that no new byte will announce */
		ev_feed_event(c->loop, &c->reading, EV_READ);
}

/* The clock runs while the client owes us bytes, and not while we do not read them. */
static void
watch_clock(struct conn *c, bool restart)
{
	bool owed = may_read(c) && (c->state == GREETING || c->in.len > 0);

	if (restart || !owed)
		ev_timer_stop(c->loop, &c->deadline);
	if (!owed || ev_is_active(&c->deadline))
		return;
	ev_timer_set(&c->deadline, c->state == GREETING ? LIM_HELLO_SEC : LIM_FRAME_SEC, 0.);
	ev_timer_start(c->loop, &c->deadline);
}

static const char *
leaving(int error)
{
	return error == EPIPE || error == ECONNRESET ? "client left" : strerror(error);
}

/* ---- endings ----------------------------------------------------------------- */

static void
end_silently(struct conn *c)
{
	c->state = ENDED;
	ev_io_stop(c->loop, &c->reading);
	ev_io_stop(c->loop, &c->writing);
	ev_timer_stop(c->loop, &c->deadline);
	ev_timer_stop(c->loop, &c->stall);
	shutdown(c->fd, SHUT_RDWR);
	ev_timer_start(c->loop, &c->end);
}

static void
end(struct conn *c, const char *reason)
{
	if (c->state == ENDED)
		return;
	/* one that is finishing has told its reason */
	log_debug("conn=%lu closed reason=\"%s\"", c->id, reason);
	end_silently(c);
}

static void
on_end(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct conn *c = w->data;

	(void)loop;
	(void)revents;
	c->ops->on_gone(c->arg);
}

void
conn_finish(struct conn *c, const char *reason)
{
	if (c->state >= FINISHING)
		return;
	log_debug("conn=%lu closed reason=\"%s\"", c->id, log_escape(reason, strlen(reason)));
	c->state = FINISHING;
	watch_input(c);
	watch_clock(c, false);
	if (c->out_bytes == 0)
		end_silently(c);
}

/* ---- bytes in ----------------------------------------------------------------- */

/* Drop the frames that were handled, and the memory a large one needed. */
static void
forget(struct conn *c, size_t n)
{
	size_t     rest = c->in.len - n;
	struct buf small = { 0 };

	if (rest == 0 || c->state >= FINISHING) {
		buf_clear(&c->in);
		return;
	}
	if (n == 0)
		return;
	if (rest > c->in.cap / 4) {
		buf_drop(&c->in, n);
		return;
	}
	buf_append(&small, c->in.data + n, rest);
	if (small.failed)
		end(c, "no memory");
	buf_clear(&c->in);
	c->in = small;
}

static void
break_off(struct conn *c, enum mp_verdict v)
{
	struct err e;

	if (v == MP_HUGE)
		err_set(&e, E_PROTO, "frame too large (max %lu bytes, %lu values)", LIM_MESSAGE, LIM_VALUES);
	else
		err_set(&e, E_PROTO, "not MessagePack, or nested deeper than %d", LIM_DEPTH);
	c->ops->on_broken(c->arg, &e);
}

static void
take_frames(struct conn *c)
{
	size_t used = 0;

	while (may_read(c) && used < c->in.len) {
		const char     *frame = c->in.data + used;
		enum mp_verdict v = mp_scan(&c->scan, frame, c->in.len - used, LIM_MESSAGE);

		if (v == MP_MORE)
			break;
		if (v != MP_WHOLE) {
			break_off(c, v);
			break;
		}
		size_t n = c->scan.pos;
		c->scan = (struct mp_scan){ 0 };
		c->state = OPEN;
		used += n;
		c->ops->on_frame(c->arg, frame, n);
	}
	forget(c, used);
	watch_clock(c, used > 0);
}

/* One read; false when there was nothing. */
static bool
fill(struct conn *c)
{
	static char scratch[READ_BYTES]; /* every conn of the loop reads through it */
	ssize_t     n = recv(c->fd, scratch, sizeof(scratch), MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		end(c, n == -1 ? leaving(errno) : c->in.len > 0 ? "client left inside a frame" : "client left");
		return false;
	}
	buf_append(&c->in, scratch, (size_t)n);
	if (c->in.failed)
		end(c, "no memory");
	return true;
}

static void
on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct conn *c = w->data;

	(void)loop;
	(void)revents;
	take_frames(c); /* what a hold left behind; more is read only when that is done */
	if (may_read(c) && fill(c))
		take_frames(c);
}

static void
on_deadline(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct conn *c = w->data;
	struct err   e;

	(void)loop;
	(void)revents;
	if (c->state == GREETING)
		err_set(&e, E_PROTO, "no whole frame within %g s of connecting", LIM_HELLO_SEC);
	else
		err_set(&e, E_PROTO, "a frame was not whole after %g s", LIM_FRAME_SEC);
	c->ops->on_broken(c->arg, &e);
}

void
conn_hold(struct conn *c, enum conn_hold why)
{
	c->holds |= why;
	watch_input(c);
	watch_clock(c, false);
}

void
conn_release(struct conn *c, enum conn_hold why)
{
	if (!(c->holds & why))
		return;
	c->holds &= ~(unsigned)why;
	watch_input(c);
	watch_clock(c, false);
}

/* ---- bytes out ---------------------------------------------------------------- */

static int
gather(struct conn *c, struct iovec *iov)
{
	size_t        skip = c->out_sent;
	int           n = 0;
	struct chunk *k;

	TAILQ_FOREACH (k, &c->out, next) {
		if (n == OUT_IOV)
			break;
		iov[n++] = (struct iovec){ k->bytes.data + skip, k->bytes.len - skip };
		skip = 0;
	}
	return n;
}

static void
wrote(struct conn *c, size_t n)
{
	c->out_bytes -= n;
	c->out_sent += n;
	while (!TAILQ_EMPTY(&c->out)) {
		struct chunk *k = TAILQ_FIRST(&c->out);

		if (c->out_sent < k->bytes.len)
			break;
		c->out_sent -= k->bytes.len;
		TAILQ_REMOVE(&c->out, k, next);
		buf_clear(&k->bytes);
		free(k);
	}
}

/* What went out: > 0 some bytes, 0 none could, -1 the conn has ended. */
static int
flush(struct conn *c)
{
	struct iovec iov[OUT_IOV];
	int          some = 0;

	for (int i = 0; i < OUT_TURNS && c->out_bytes > 0; i++) {
		struct msghdr h = { .msg_iov = iov, .msg_iovlen = (size_t)gather(c, iov) };
		ssize_t       n = sendmsg(c->fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1) {
			end(c, leaving(errno));
			return -1;
		}
		wrote(c, (size_t)n);
		some = 1;
	}
	return some;
}

static void
watch_output(struct conn *c, bool progress)
{
	if (c->out_bytes == 0) {
		ev_io_stop(c->loop, &c->writing);
		ev_timer_stop(c->loop, &c->stall);
	} else {
		ev_io_start(c->loop, &c->writing);
		if (progress || !ev_is_active(&c->stall))
			ev_timer_again(c->loop, &c->stall);
	}
	if (c->out_bytes > LIM_CONN_HIGH)
		conn_hold(c, HOLD_OUTPUT);
	else if (c->out_bytes <= LIM_CONN_HIGH / 2)
		conn_release(c, HOLD_OUTPUT);
}

static void
push_out(struct conn *c)
{
	int progress = flush(c);

	if (progress == -1)
		return;
	watch_output(c, progress > 0);
	if (c->out_bytes == 0 && c->state == FINISHING)
		end_silently(c);
}

static void
on_writable(struct ev_loop *loop, ev_io *w, int revents)
{
	(void)loop;
	(void)revents;
	push_out(w->data);
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
enqueue(struct conn *c, struct buf *b)
{
	struct chunk *last = TAILQ_LAST(&c->out, chunks);

	if (last != NULL && last->bytes.len + b->len <= CHUNK_BYTES) {
		buf_append(&last->bytes, b->data, b->len);
		if (last->bytes.failed)
			end(c, "no memory");
		else
			c->out_bytes += b->len;
		return;
	}
	struct chunk *k = calloc(1, sizeof(*k));
	if (k == NULL) {
		end(c, "no memory");
		return;
	}
	c->out_bytes += b->len;
	k->bytes = *b;
	*b = (struct buf){ 0 };
	TAILQ_INSERT_TAIL(&c->out, k, next);
}

void
conn_send(struct conn *c, struct buf *b)
{
	bool idle = c->out_bytes == 0;

	/*
	 * The queue is measured before the message, so that one reply larger than
	 * the limit (64 MiB of each stream can be asked for) still reaches a client
	 * that reads.
	 */
	if (c->out_bytes > LIM_CONN_OUT)
		end(c, "too much output is waiting for it");
	if (c->state < FINISHING && b->len > 0) {
		enqueue(c, b);
		if (idle && c->state != ENDED)
			push_out(c); /* most replies fit the socket: no round through the loop */
		else if (c->state != ENDED)
			watch_output(c, false);
	}
	buf_clear(b);
}

/* ---- open and close ------------------------------------------------------------- */

struct conn *
conn_open(struct ev_loop *loop, int fd, uint64_t id, const struct conn_ops *ops, void *arg, struct err *e)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		err_set(e, E_SYS, "no memory for a connection");
		return NULL;
	}
	c->loop = loop;
	c->fd = fd;
	c->id = id;
	c->ops = ops;
	c->arg = arg;
	TAILQ_INIT(&c->out);
	ev_io_init(&c->reading, on_readable, fd, EV_READ);
	ev_io_init(&c->writing, on_writable, fd, EV_WRITE);
	ev_timer_init(&c->deadline, on_deadline, LIM_HELLO_SEC, 0.);
	ev_timer_init(&c->stall, on_stall, 0., LIM_STALL_SEC);
	ev_timer_init(&c->end, on_end, 0., 0.);
	c->reading.data = c->writing.data = c->deadline.data = c->stall.data = c->end.data = c;
	watch_input(c);
	watch_clock(c, false);
	return c;
}

void
conn_close(struct conn **cp)
{
	struct conn *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	if (c->state != ENDED)
		end_silently(c);
	ev_timer_stop(c->loop, &c->end);
	fd_close(&c->fd);
	wrote(c, c->out_bytes);
	buf_clear(&c->in);
	free(c);
}
