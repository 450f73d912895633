/*
 * Connections of a tenant, from the listener until they are let out or refused.
 *
 * The listener has the options that its connections are to have, and each of them inherits them: also those that this
 * process dies before it has accepted reset their peer.  Clients that are silent for a while are asked whether they are
 * still there: one that was killed may leave a connection behind that nobody would ever end.
 *
 * All tenants share the descriptors of this process.  Each may have its share; beyond that only while a quarter of them
 * is free, so that one tenant that takes what it can leaves room for those that come later.  When there are none all
 * the same, one that is kept for that is given back, and the connection is accepted to be reset: a listener that nobody
 * accepts from would keep the loop awake, and its clients waiting.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "flow/original.h"
#include "net_session_impl.h"

static const double AWAY_SEC = 0.1;

enum {
	BURST = 64,      /* accepted before others get their turn */
	RESERVED = 64,   /* descriptors of the channel and the loop */
	OF_A_TENANT = 3, /* its sockets; those of questions about names come out of the quarter */
	OF_A_FLOW = 2,
	WIDE_FLOWS = 16, /* of a tenant: those beyond get small buffers */
	DNS_PORT = 53,

	/*
	 * Of a socket in the namespace.  The way to it is a copy, so more brings nothing; left alone, the kernel would
	 * give a client that stops reading megabytes of this machine's memory.
	 */
	LOCAL_BUFFER = 208 * 1024,
};

/* ---- limits ----------------------------------------------------------------------- */

/* In the table of the host. */
static bool
may_be_tracked(struct net_session *t)
{
	double            now = ev_now(t->egress->loop);
	enum tracked_room room = tracked_look(&t->egress->tracked, now);

	return room == TRACKED_ENOUGH || (room == TRACKED_SCARCE && trickle_take(&t->trickle, now));
}

static bool
has_room(struct net_session *t)
{
	const struct egress *g = t->egress;
	uint64_t             fixed = RESERVED + g->asking + OF_A_TENANT * g->tenants;
	uint64_t             all = fixed < g->descriptors ? (g->descriptors - fixed) / OF_A_FLOW : 0; /* flows */

	if (t->numbers.open >= g->connections || !may_be_tracked(t))
		return false;
	return t->numbers.open < all / g->tenants || g->flows + all / 4 < all;
}

static void
refuse_one_too_many(struct net_session *t, int *fd)
{
	flow_reset(fd);
	t->numbers.over_limit++;
	net_session_changed(t);
}

/* ---- flows ------------------------------------------------------------------------- */

static void
on_moved(void *arg, uint64_t sent, uint64_t received)
{
	struct net_session *t = arg;

	t->numbers.sent_bytes += sent;
	t->numbers.received_bytes += received;
	net_session_changed(t);
}

/* Of a connection that was allowed for a name, and does not say it. */
static const char *const why_not[] = {
	[SAID_OTHER] = "is neither TLS nor HTTP/1, which alone say a name; allow its address",
	[SAID_NO_NAME] = "says none",
	[SAID_UNCLEAR] = "cannot be understood",
	[SAID_LONG] = "says too much before it says one",
	[SAID_LATE] = "does not finish saying one",
	[SAID_SERVER_FIRST] = "lets the server speak first, which says no name; allow its address",
};

static void
say_why(char rule[LIM_NET_RULE + 1], enum said said, const char *name)
{
	if (said == SAID_NAME)
		snprintf(
		    rule, LIM_NET_RULE + 1, "deny %s: the connection says another name than it was allowed for", name);
	else
		snprintf(
		    rule, LIM_NET_RULE + 1, "deny all: allowed for a name only, and the connection %s", why_not[said]);
}

/* Allowed for a name, it counts only for the name that it says itself. */
static bool
on_said(void *arg, struct flow *f, enum said said, const char *name)
{
	struct net_session *t = arg;
	struct verdict      v = { 0 };
	char                rule[LIM_NET_RULE + 1];

	if (said == SAID_NAME)
		access_judge(&t->access, &f->place, &name, 1, &v);
	if (v.allowed && flow_rename(f, &name, 1) == 0)
		return true;
	say_why(rule, said, name);
	if (said != SAID_NAME && f->n_names > 0)
		name = f->names[0];
	net_session_deny(t, NET_TCP, name, &f->place.address, f->place.port, rule);
	return false;
}

static void
on_over(void *arg, struct flow *f, enum flow_end how)
{
	struct net_session *t = arg;

	assert(t->numbers.open > 0 && t->egress->flows > 0);
	TAILQ_REMOVE(&t->flows, f, next);
	t->numbers.open--;
	t->egress->flows--;
	if (how == FLOW_FAILED)
		t->numbers.failed++;
	net_session_changed(t);
	flow_close(&f);
}

const struct flow_ops net_session_flow_ops = { .moved = on_moved, .said = on_said, .over = on_over };

static bool
is_short_of_something(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS || error == ENOSPC;
}

/* It may go: let it. */
static void
let_out(struct net_session *t, int *fd, const struct place *p, const struct names *names, bool by_name)
{
	struct flow_plan plan = {
		.client = fd_take(fd), .place = *p, .look = by_name, .small = t->numbers.open >= WIDE_FLOWS
	};

	plan.names = names->v;
	plan.n_names = names->n;
	struct flow *f = flow_open(&t->home, &plan);
	if (f == NULL && is_short_of_something(errno)) {
		t->numbers.over_limit++;
		return;
	}
	t->numbers.total++;
	if (f == NULL) {
		t->numbers.failed++;
		return;
	}
	TAILQ_INSERT_TAIL(&t->flows, f, next);
	t->numbers.open++;
	t->egress->flows++;
}

/* ---- connections ------------------------------------------------------------------- */

/* The name that decided comes first. */
static void
put_first(struct names *names, const char *name)
{
	for (size_t i = 1; i < names->n; i++)
		if (strcmp(names->v[i], name) == 0) {
			const char *was = names->v[0];

			names->v[0] = names->v[i];
			names->v[i] = was;
		}
}

static void
judge(struct net_session *t, int *fd, const struct netaddr *to, uint16_t port)
{
	struct place   p;
	struct names   names;
	struct verdict v;

	access_place(&t->access, to, port, &p);
	access_names(&t->access, to, &names);
	access_judge(&t->access, &p, names.v, names.n, &v);
	if (!v.allowed) {
		flow_reset(fd);
		net_session_deny(t, NET_TCP, v.name, to, port, v.rule);
	} else if (!has_room(t)) {
		refuse_one_too_many(t, fd);
	} else {
		put_first(&names, v.name);
		let_out(t, fd, &p, &names, v.by_name);
		net_session_changed(t);
	}
}

/* DNS answers must arrive, so this one closes in order. */
static void
give_to_dns(struct net_session *t, int *fd)
{
	static const struct linger none = { 0 };

	(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	dns_take(t->dns, fd_take(fd));
}

static bool
is_dns(const struct netaddr *a, uint16_t port)
{
	static const struct netaddr here = { .family = 4, .bytes = { 127, 0, 0, 1 } };

	return port == DNS_PORT && netaddr_same(a, &here);
}

/* Of who has left again before we came, the kernel does not know any more where it wanted to go. */
static bool
has_left(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1 && errno != EAGAIN;
}

static void
take(struct net_session *t, int accepted)
{
	AUTO_FD int    fd = accepted;
	struct netaddr to;
	uint16_t       port;

	if (!original_destination(fd, &to, &port)) {
		if (has_left(fd))
			return;
		flow_reset(&fd);
		net_session_deny(t, NET_TCP, "", &to, port, "built-in: loopback leads to the sandbox itself");
	} else if (is_dns(&to, port))
		give_to_dns(t, &fd);
	else
		judge(t, &fd, &to, port);
}

/* ---- accepting ---------------------------------------------------------------------- */

static void
look_away(struct net_session *t)
{
	ev_io_stop(t->egress->loop, &t->knocking);
	ev_timer_set(&t->away, AWAY_SEC, 0.);
	ev_timer_start(t->egress->loop, &t->away);
}

static void
on_away(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct net_session *t = w->data;

	ev_io_start(loop, &t->knocking);
}

/* No descriptor is left but the spare one. */
static void
accept_to_reset(struct net_session *t)
{
	struct egress *g = t->egress;

	fd_close(&g->spare);
	int fd = accept4(t->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		refuse_one_too_many(t, &fd);
	else
		look_away(t);
	g->spare = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
}

/* false: that was all, for now. */
static bool
accept_one(struct net_session *t)
{
	int fd = accept4(t->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		take(t, fd);
		return true;
	}
	switch (errno) {
	case EAGAIN:
		return false;
	case EMFILE:
	case ENFILE:
		accept_to_reset(t);
		return true;
	case ENOMEM:
	case ENOBUFS:
	case EBADF:
	case EINVAL:
	case ENOTSOCK:
		look_away(t);
		return false;
	default: /* of the one connection, which is gone */
		return true;
	}
}

void
net_session_accept(struct net_session *t, int most)
{
	for (int i = 0; i < most && ev_is_active(&t->knocking); i++)
		if (!accept_one(t))
			return;
}

static void
on_knocking(struct ev_loop *loop, ev_io *w, int revents)
{
	net_session_accept(w->data, BURST);
}

/* What all its connections will have. */
static int
set_options(int listener)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	static const struct {
		int level, name, value;
	} options[] = {
		{ SOL_SOCKET, SO_OOBINLINE, 1 },
		{ SOL_SOCKET, SO_SNDBUF, LOCAL_BUFFER },
		{ SOL_SOCKET, SO_RCVBUF, LOCAL_BUFFER },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 60 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 10 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (setsockopt(listener, options[i].level, options[i].name, &options[i].value, sizeof(int)) == -1)
			return -1;
	return setsockopt(listener, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

int
net_session_accept_init(struct net_session *t, struct err *e)
{
	int flags = fcntl(t->listener, F_GETFL);

	ev_io_init(&t->knocking, on_knocking, t->listener, EV_READ);
	ev_timer_init(&t->away, on_away, AWAY_SEC, 0.);
	t->knocking.data = t->away.data = t;
	if (flags == -1 || fcntl(t->listener, F_SETFL, flags | O_NONBLOCK) == -1 || set_options(t->listener) == -1)
		return err_sys(e, "the listener of the namespace");
	ev_io_start(t->egress->loop, &t->knocking);
	return 0;
}
