/*
 * Questions are read into a buffer of the longest one, and replies wait in a queue.  While that is long, no further
 * questions are read; a client that has asked for more than it takes is dropped, and so is one that neither asks nor
 * reads for a while.  It is not idle while it waits for us.
 *
 * A client may end its own half and still get its replies.
 */
#include "dns/dns_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "dns/dns_packet.h"

enum {
	LENGTH = 2,
	OUT_HIGH = 16 * 1024,                                /* from here on nothing is read */
	OUT_MOST = OUT_HIGH + 2 * (LENGTH + REPLY_TCP_MOST), /* two of the longest fit behind it */
};

static const double IDLE_SEC = 10.;

struct dns_stream {
	struct ev_loop              *loop;
	int                          fd; /* owned */
	const struct dns_stream_ops *ops;
	void                        *arg;
	uint8_t                      in[LENGTH + QUESTION_MOST];
	size_t                       in_len;
	struct buf                   out;
	size_t                       waiting; /* questions without a reply */
	bool                         held, ended, broken;
	ev_io                        io;
	ev_timer                     idle; /* always runs */
};

static bool
is_over(const struct dns_stream *s)
{
	return s->broken || (s->ended && s->waiting == 0 && s->out.len == 0);
}

static void
watch(struct dns_stream *s)
{
	bool reads = !s->held && !s->ended && s->out.len < OUT_HIGH;
	int  events = (reads ? EV_READ : 0) | (s->out.len > 0 ? EV_WRITE : 0);

	if (is_over(s)) {
		ev_feed_event(s->loop, &s->io, EV_CUSTOM); /* whoever called us may still look at it */
		return;
	}
	if (ev_is_active(&s->io) && s->io.events == events)
		return;
	ev_io_stop(s->loop, &s->io);
	ev_io_set(&s->io, s->fd, events);
	if (events != 0)
		ev_io_start(s->loop, &s->io);
}

/* One question of the buffer; false: there is no whole one, or none that could be. */
static bool
take_question(struct dns_stream *s)
{
	size_t n = s->in_len < LENGTH ? 0 : ldns_read_uint16(s->in);

	if (s->in_len >= LENGTH && (n == 0 || n > QUESTION_MOST))
		s->broken = true;
	if (s->broken || s->in_len < LENGTH || s->in_len - LENGTH < n)
		return false;
	s->waiting++;
	if (!s->ops->on_question(s->arg, s, s->in + LENGTH, n))
		s->waiting--;
	s->in_len -= LENGTH + n;
	memmove(s->in, s->in + LENGTH + n, s->in_len);
	return true;
}

static void
read_some(struct dns_stream *s)
{
	ssize_t n = recv(s->fd, s->in + s->in_len, sizeof(s->in) - s->in_len, MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		s->ended = true;
		s->broken = n == -1;
		return;
	}
	s->in_len += (size_t)n;
	ev_timer_again(s->loop, &s->idle);
	while (take_question(s))
		;
}

static void
write_some(struct dns_stream *s)
{
	ssize_t n = send(s->fd, s->out.data, s->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0) {
		buf_drop(&s->out, (size_t)n);
		ev_timer_again(s->loop, &s->idle);
		if (s->out.len == 0)
			buf_clear(&s->out); /* an idle client keeps nothing */
	} else if (n == -1 && errno != EAGAIN && errno != EINTR)
		s->broken = true;
}

static void
on_ready(struct ev_loop *loop, ev_io *w, int revents)
{
	struct dns_stream *s = w->data;

	if (revents & EV_WRITE && s->out.len > 0)
		write_some(s);
	if (revents & EV_READ && !s->ended)
		read_some(s);
	if (is_over(s))
		s->ops->on_gone(s->arg, s);
	else
		watch(s);
}

static void
on_idle(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct dns_stream *s = w->data;

	if (s->waiting == 0 || s->out.len > 0)
		s->ops->on_gone(s->arg, s);
}

void
dns_stream_reply(struct dns_stream *s, const uint8_t *bytes, size_t n)
{
	uint8_t length[LENGTH];

	s->waiting--;
	ldns_write_uint16(length, (uint16_t)n);
	buf_append(&s->out, length, sizeof(length));
	buf_append(&s->out, bytes, n);
	if (s->out.failed || s->out.len > OUT_MOST)
		s->broken = true;
	watch(s);
}

void
dns_stream_fail(struct dns_stream *s)
{
	s->broken = true;
	watch(s);
}

void
dns_stream_hold(struct dns_stream *s, bool held)
{
	s->held = held;
	watch(s);
}

struct dns_stream *
dns_stream_open(struct ev_loop *loop, int taken, const struct dns_stream_ops *ops, void *arg)
{
	AUTO_FD int        fd = taken;
	struct dns_stream *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->loop = loop;
	s->fd = fd_take(&fd);
	s->ops = ops;
	s->arg = arg;
	ev_io_init(&s->io, on_ready, s->fd, EV_READ);
	ev_timer_init(&s->idle, on_idle, IDLE_SEC, IDLE_SEC);
	s->io.data = s->idle.data = s;
	ev_timer_again(loop, &s->idle);
	watch(s);
	return s;
}

void
dns_stream_close(struct dns_stream **sp)
{
	struct dns_stream *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	ev_io_stop(s->loop, &s->io);
	ev_timer_stop(s->loop, &s->idle);
	fd_close(&s->fd);
	buf_clear(&s->out);
	free(s);
}
