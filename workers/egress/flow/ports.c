/*
 * A stand-in is what c-ares takes for its socket to one server: a socket that is never used, and behind it the ports,
 * one for each question on its way.  A port is closed by its answer, by the same question asked once more, by its age,
 * or with its stand-in, which c-ares closes when no question waits for that server.
 *
 * TCP is passed through.
 */
#define CARES_NO_DEPRECATED
#include "flow/ports.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.h"

enum {
	BYTES_MOST = 65536, /* of one answer */
	FORGED_MOST = 8,    /* answers to something else: then the port is known to somebody, and is closed */
	HEAD = 12,          /* bytes before the question */
	KIND = 4,           /* type and class, behind the name */
	ASKED_MOST = HEAD + 255 + KIND,
};

static const double OLD_SEC = 10; /* longer than c-ares waits for an answer */

struct port {
	TAILQ_ENTRY(port) next;
	struct standin *standin;
	ev_io           io; /* its socket is owned */
	ev_tstamp       since;
	bool            shared; /* by several questions */
	unsigned        forged;
	size_t          n_asked;
	uint8_t         asked[ASKED_MOST]; /* its packet, to the end of its question */
};

TAILQ_HEAD(port_list, port);

struct standin {
	LIST_ENTRY(standin) next;
	struct ports           *ports;
	int                     fd; /* owned by c-ares, which closes it by us */
	struct sockaddr_storage to;
	socklen_t               to_len;
	struct port_list        all; /* owned; oldest first */
};

struct ports {
	struct ev_loop *loop;
	ares_channel    channel;
	size_t          n, most;
	LIST_HEAD(, standin) standins; /* owned */
	void (*on_answer)(void *);
	void *arg;

	/* what c-ares is about to take from a stand-in: n bytes, or an error */
	int     taking; /* its descriptor; -1: nothing */
	ssize_t got;
	int     error;
	uint8_t bytes[BYTES_MOST];
};

/* ---- ports ---------------------------------------------------------------------------- */

static void
port_close(struct port **pp)
{
	struct port *p = *pp;
	int          fd = p->io.fd;

	*pp = NULL;
	assert(p->standin->ports->n > 0 && fd >= 0);
	ev_io_stop(p->standin->ports->loop, &p->io);
	TAILQ_REMOVE(&p->standin->all, p, next);
	p->standin->ports->n--;
	fd_close(&fd);
	free(p);
}

/* An answer, or an error, goes to c-ares; it may close the stand-in meanwhile. */
static void
hand_over(struct ports *s, int standin, ssize_t got, int error)
{
	s->taking = standin;
	s->got = got;
	s->error = error;
	ares_process_fd(s->channel, standin, ARES_SOCKET_BAD);
	s->taking = -1;
	if (s->on_answer != NULL)
		s->on_answer(s->arg);
}

/* Letters may come back in another case; the lengths of labels are no letters. */
static bool
is_same_name(const uint8_t *a, const uint8_t *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tolower(a[i]) != tolower(b[i]))
			return false;
	return true;
}

/* The same number, one question, and that one. */
static bool
is_expected(const struct port *p, const uint8_t *bytes, ssize_t n)
{
	const size_t kind = p->n_asked - KIND;

	if (p->shared)
		return true; /* c-ares knows them all */
	return n >= (ssize_t)p->n_asked && memcmp(bytes, p->asked, 2) == 0 && memcmp(bytes + 4, p->asked + 4, 2) == 0 &&
	       is_same_name(bytes + HEAD, p->asked + HEAD, kind - HEAD) &&
	       memcmp(bytes + kind, p->asked + kind, KIND) == 0;
}

static void
on_ready(struct ev_loop *loop, ev_io *w, int revents)
{
	struct port  *p = w->data;
	struct ports *s = p->standin->ports;
	int           standin = p->standin->fd;

	ssize_t n = recv(w->fd, s->bytes, sizeof(s->bytes), 0);
	int     error = n == -1 ? errno : 0;
	if (error == EAGAIN || error == EINTR)
		return;
	if (error == 0 && !is_expected(p, s->bytes, n)) {
		if (++p->forged >= FORGED_MOST)
			port_close(&p);
		return;
	}
	if (error != 0 || !p->shared)
		port_close(&p);
	hand_over(s, standin, n, error);
}

/* Connected: the kernel takes packets from that server alone. */
static struct port *
port_open(struct standin *t)
{
	AUTO_FD int  fd = socket(t->to.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct port *p;

	if (fd == -1 || connect(fd, (struct sockaddr *)&t->to, t->to_len) == -1)
		return NULL;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->standin = t;
	p->since = ev_now(t->ports->loop);
	ev_io_init(&p->io, on_ready, fd_take(&fd), EV_READ);
	p->io.data = p;
	ev_io_start(t->ports->loop, &p->io);
	TAILQ_INSERT_TAIL(&t->all, p, next);
	t->ports->n++;
	return p;
}

/* Those that nobody waits for any more, and the one of the same question. */
static void
close_old(struct standin *t, const uint8_t *packet)
{
	struct port *p, *following;
	ev_tstamp    now = ev_now(t->ports->loop);

	for (p = TAILQ_FIRST(&t->all); p != NULL; p = following) {
		following = TAILQ_NEXT(p, next);
		if (p->since + OLD_SEC < now || (!p->shared && memcmp(p->asked, packet, 2) == 0))
			port_close(&p);
	}
}

/* One that a question has; the newest is the least likely to be known to anybody. */
static struct port *
port_share(struct standin *t)
{
	struct port *p = TAILQ_LAST(&t->all, port_list);

	if (p != NULL)
		p->shared = true;
	return p;
}

/* Bytes to the end of the question; 0: c-ares would not send that. */
static size_t
question_end(const uint8_t *packet, size_t n)
{
	size_t at = HEAD;

	while (at < n && packet[at] != 0)
		at += 1 + (size_t)packet[at];
	at += 1 + KIND;
	return at <= n && at <= ASKED_MOST ? at : 0;
}

/* NULL, and errno. */
static struct port *
port_for(struct standin *t, const uint8_t *packet, size_t n)
{
	struct port *p = NULL;
	size_t       asked = question_end(packet, n);

	if (asked == 0) {
		errno = EINVAL;
		return NULL;
	}
	close_old(t, packet);
	if (t->ports->n < t->ports->most)
		p = port_open(t);
	if (p == NULL)
		return port_share(t);
	memcpy(p->asked, packet, asked);
	p->n_asked = asked;
	return p;
}

/* ---- what c-ares calls ---------------------------------------------------------------- */

static struct standin *
standin_of(struct ports *s, int fd)
{
	struct standin *t;

	LIST_FOREACH (t, &s->standins, next)
		if (t->fd == fd)
			return t;
	return NULL;
}

static ares_socket_t
on_socket(int family, int type, int protocol, void *arg)
{
	struct ports   *s = arg;
	AUTO_FD int     fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	struct standin *t;

	if (fd == -1 || type != SOCK_DGRAM)
		return fd_take(&fd);
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return -1;
	t->ports = s;
	t->fd = fd;
	TAILQ_INIT(&t->all);
	LIST_INSERT_HEAD(&s->standins, t, next);
	return fd_take(&fd);
}

static int
on_close(ares_socket_t fd, void *arg)
{
	struct standin *t = standin_of(arg, fd);
	struct port    *p;

	if (t != NULL) {
		while ((p = TAILQ_FIRST(&t->all)) != NULL)
			port_close(&p);
		LIST_REMOVE(t, next);
		free(t);
	}
	return close(fd);
}

static int
on_connect(ares_socket_t fd, const struct sockaddr *to, ares_socklen_t len, void *arg)
{
	struct standin *t = standin_of(arg, fd);

	if (t == NULL)
		return connect(fd, to, len);
	if (len > sizeof(t->to)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&t->to, to, len);
	t->to_len = len;
	return 0;
}

static ares_ssize_t
on_receive(ares_socket_t fd, void *to, size_t n, int flags, struct sockaddr *from, ares_socklen_t *len, void *arg)
{
	struct ports   *s = arg;
	struct standin *t = standin_of(s, fd);

	if (t == NULL)
		return recvfrom(fd, to, n, flags, from, len);
	bool here = s->taking == fd;
	s->taking = -1;
	if (!here || s->got == -1) {
		errno = here ? s->error : EAGAIN;
		return -1;
	}
	n = n < (size_t)s->got ? n : (size_t)s->got;
	memcpy(to, s->bytes, n);
	if (from != NULL && len != NULL) {
		memcpy(from, &t->to, *len < t->to_len ? *len : t->to_len);
		*len = t->to_len;
	}
	return (ares_ssize_t)n;
}

/* A question comes in one piece. */
static ares_ssize_t
on_send(ares_socket_t fd, const struct iovec *parts, int n, void *arg)
{
	struct standin *t = standin_of(arg, fd);
	struct msghdr   m = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)n };
	struct port    *p;

	if (t == NULL)
		return sendmsg(fd, &m, MSG_NOSIGNAL);
	if (n != 1) {
		errno = EINVAL;
		return -1;
	}
	if ((p = port_for(t, parts[0].iov_base, parts[0].iov_len)) == NULL)
		return -1;
	return sendmsg(p->io.fd, &m, MSG_NOSIGNAL);
}

static const struct ares_socket_functions functions = {
	.asocket = on_socket,
	.aclose = on_close,
	.aconnect = on_connect,
	.arecvfrom = on_receive,
	.asendv = on_send,
};

/* ---- life ----------------------------------------------------------------------------- */

struct ports *
ports_open(struct ev_loop *loop, ares_channel channel, size_t most)
{
	struct ports *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->loop = loop;
	s->channel = channel;
	s->most = most;
	s->taking = -1;
	LIST_INIT(&s->standins);
	ares_set_socket_functions(channel, &functions, s);
	return s;
}

void
ports_close(struct ports **sp)
{
	free(*sp); /* the channel has closed its sockets, and so all of ours */
	*sp = NULL;
}

void
ports_on_answer(struct ports *s, void (*fn)(void *), void *arg)
{
	s->on_answer = fn;
	s->arg = arg;
}
