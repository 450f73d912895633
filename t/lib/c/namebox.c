#include "namebox.h"

#include <arpa/inet.h>

#include "base/fd.h"
#include "tap.h"

/* Our own questions to it are never compressed. */
static bool
read_question(struct nb_question *q, const uint8_t *p, size_t n)
{
	size_t at = 12, len = 0;

	if (n < 12)
		return false;
	while (at < n && p[at] != 0 && at + 1 + p[at] < n && len + p[at] + 1 < sizeof(q->name)) {
		len += (size_t)snprintf(
		    q->name + len, sizeof(q->name) - len, "%s%.*s", len > 0 ? "." : "", p[at], p + at + 1);
		at += 1u + p[at];
	}
	if (at + 5 > n || p[at] != 0)
		return false;
	q->id = (uint16_t)(p[0] << 8 | p[1]);
	q->type = (uint16_t)(p[at + 1] << 8 | p[at + 2]);
	return true;
}

static void
handle(struct namebox *b, struct nb_question *q, const void *bytes, size_t n)
{
	must(read_question(q, bytes, n), "a question that the test cannot read");
	b->asked++;
	b->asked_tcp += q->is_tcp;
	b->handler(b, q);
}

static void
on_udp(struct ev_loop *loop, ev_io *w, int revents)
{
	struct namebox    *b = w->data;
	struct nb_question q = { .fd = b->udp };
	socklen_t          len = sizeof(q.from);
	uint8_t            bytes[2048];
	ssize_t            n = recvfrom(b->udp, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&q.from, &len);

	if (n >= 0)
		handle(b, &q, bytes, (size_t)n);
}

static void
conn_close(struct nb_conn *c)
{
	if (c->fd == -1)
		return;
	ev_io_stop(c->box->loop, &c->ready);
	fd_close(&c->fd);
	buf_clear(&c->in);
}

static void
on_conn(struct ev_loop *loop, ev_io *w, int revents)
{
	struct nb_conn    *c = w->data;
	struct nb_question q = { .fd = c->fd, .is_tcp = true };
	char               bytes[4096];
	ssize_t            n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n <= 0) {
		conn_close(c);
		return;
	}
	buf_append(&c->in, bytes, (size_t)n);
	for (;;) {
		const uint8_t *p = (const uint8_t *)c->in.data;
		size_t         len = c->in.len < 2 ? 0 : (size_t)(p[0] << 8 | p[1]);

		if (c->in.len < 2 || c->in.len - 2 < len)
			return;
		handle(c->box, &q, p + 2, len);
		buf_drop(&c->in, 2 + len);
	}
}

static void
on_tcp(struct ev_loop *loop, ev_io *w, int revents)
{
	struct namebox *b = w->data;
	int             fd = accept4(b->tcp, NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd != -1 && i < NB_CONNS; i++)
		if (b->conns[i].fd == -1) {
			b->conns[i] = (struct nb_conn){ .box = b, .fd = fd };
			ev_io_init(&b->conns[i].ready, on_conn, fd, EV_READ);
			b->conns[i].ready.data = &b->conns[i];
			ev_io_start(loop, &b->conns[i].ready);
			return;
		}
	fd_close(&fd);
}

/* Both at the same port; another one if somebody has it for the other. */
static bool
bind_both(struct namebox *b)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          len = sizeof(a);

	b->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	b->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(b->udp != -1 && b->tcp != -1 && bind(b->udp, (struct sockaddr *)&a, len) != -1 &&
		 getsockname(b->udp, (struct sockaddr *)&a, &len) != -1,
	    "no sockets for a name server");
	if (bind(b->tcp, (struct sockaddr *)&a, len) == -1 || listen(b->tcp, 64) == -1) {
		fd_close(&b->udp);
		fd_close(&b->tcp);
		return false;
	}
	snprintf(b->address, sizeof(b->address), "127.0.0.1:%u", ntohs(a.sin_port));
	return true;
}

void
namebox_open(struct namebox *b, struct ev_loop *loop, nb_handler *handler)
{
	*b = (struct namebox){ .loop = loop, .handler = handler };
	for (int i = 0; i < NB_CONNS; i++)
		b->conns[i].fd = -1;
	while (!bind_both(b))
		;
	ev_io_init(&b->udp_ready, on_udp, b->udp, EV_READ);
	ev_io_init(&b->tcp_ready, on_tcp, b->tcp, EV_READ);
	b->udp_ready.data = b->tcp_ready.data = b;
	ev_io_start(loop, &b->udp_ready);
	ev_io_start(loop, &b->tcp_ready);
}

void
namebox_close(struct namebox *b)
{
	for (int i = 0; i < NB_CONNS; i++)
		conn_close(&b->conns[i]);
	ev_io_stop(b->loop, &b->udp_ready);
	ev_io_stop(b->loop, &b->tcp_ready);
	fd_close(&b->udp);
	fd_close(&b->tcp);
}

void
namebox_send(const struct nb_question *q, const void *bytes, size_t n)
{
	uint8_t length[2] = { (uint8_t)(n >> 8), (uint8_t)n };

	if (!q->is_tcp) {
		sendto(q->fd, bytes, n, 0, (const struct sockaddr *)&q->from, sizeof(q->from));
		return;
	}
	if (send(q->fd, length, sizeof(length), MSG_NOSIGNAL) == sizeof(length))
		(void)!send(q->fd, bytes, n, MSG_NOSIGNAL);
}
