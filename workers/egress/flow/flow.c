/*
 * A turn: what the sockets have told is passed to the pumps, then each of them gets its go.  The order within a turn
 * is that of TCP: bytes that came before a reset or an end are passed on before it.
 *
 * A flow that must say whom it is for keeps its first bytes in the kernel until it has.  Only a client of TLS or HTTP/1
 * says that, and it speaks before its server does: what is anything else is cut, and so is a server that speaks first.
 * Of HTTP every request is looked at (requests.h); of TLS only the hello can be.
 */
#include "flow/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/fd.h"

#define FLOW_OF(t) ((struct flow *)((char *)(t)-offsetof(struct flow, turn)))

static const struct linger reset_on_close = { .l_onoff = 1, .l_linger = 0 };

void
flow_reset(int *fd)
{
	if (*fd >= 0)
		(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &reset_on_close, sizeof(reset_on_close));
	fd_close(fd);
}

static void
over(struct flow *f, enum flow_end how)
{
	f->home->ops->over(f->home->arg, f, how);
}

/* ---- connecting ------------------------------------------------------------------ */

static int
server_socket(const struct place *p)
{
	AUTO_FD int s = socket(
	    p->address.family == 4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
	int on = 1;

	if (s == -1 || setsockopt(s, SOL_SOCKET, SO_LINGER, &reset_on_close, sizeof(reset_on_close)) == -1 ||
	    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1 ||
	    setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == -1 ||
	    setsockopt(s, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) == -1)
		return -1;
	return fd_take(&s);
}

/*
 * What a side does not take waits in buffers of the kernel's, which grow to several megabytes: of this host's memory,
 * and not of the session's.  The first few connections may have that, and are as fast as any; of a thousand each gets
 * a little.
 */
static void
keep_small(int fd)
{
	int bytes = FLOW_BUFFER;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static int
start_connecting(struct flow *f)
{
	struct sockaddr_storage to;
	socklen_t               len = netaddr_sockaddr(&f->place.address, f->place.port, &to);

	if ((f->server.fd = server_socket(&f->place)) == -1)
		return -1;
	if (f->small) {
		keep_small(f->client.fd);
		keep_small(f->server.fd);
	}
	if (connect(f->server.fd, (struct sockaddr *)&to, len) == -1 && errno != EINPROGRESS)
		return -1;
	f->connecting = true; /* also when it is connected already: the socket reports that once */
	ev_timer_start(f->home->loop, &f->late);
	return 0;
}

/*
 * news: the events of its socket.  0, or -1 when it cannot be connected.  One that was made and is broken
 * by now may have brought something, which is passed on before the break is: so the error is left where it is.
 */
static int
finish_connecting(struct flow *f, uint32_t news)
{
	char one;

	if ((news & (EPOLLERR | EPOLLHUP)) && recv(f->server.fd, &one, 1, MSG_PEEK) == -1)
		return -1;
	f->connecting = false;
	ev_timer_stop(f->home->loop, &f->late);
	return 0;
}

static void
on_late(struct ev_loop *loop, ev_timer *w, int revents)
{
	over(w->data, FLOW_FAILED);
}

/* ---- what it says it is for ------------------------------------------------------- */

static bool
said(struct flow *f, enum said what, const char *name)
{
	ev_timer_stop(f->home->loop, &f->hello_late);
	return f->home->ops->said(f->home->arg, f, what, name);
}

/* It has begun to say something, and did not finish in time. */
static void
on_hello_late(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct flow *f = w->data;

	if (!said(f, SAID_LATE, ""))
		over(f, FLOW_DENIED);
}

static void
wait_for_more(struct flow *f)
{
	f->out.readable = false; /* until the next event */
	if (!ev_is_active(&f->hello_late))
		ev_timer_start(f->home->loop, &f->hello_late);
}

/* Of the requests: the first of these bytes follows the last that passed. */
static ssize_t
look_at_requests(void *arg, const char *bytes, size_t n)
{
	struct flow *f = arg;
	char         name[LIM_DNS_NAME + 1];
	enum said    what;
	size_t       pass = requests_look(&f->requests, bytes, n, &what, name);

	if (what == SAID_NOTHING || (what == SAID_MORE && f->requests.at == AT_ANSWER))
		return (ssize_t)pass;
	if (what == SAID_MORE && f->out.last)
		what = SAID_UNCLEAR;
	if (what == SAID_MORE)
		wait_for_more(f);
	else if (!said(f, what, what == SAID_NAME ? name : ""))
		return -1;
	return (ssize_t)pass;
}

static void
requests_were_passed(void *arg, const char *bytes, size_t n, size_t passed)
{
	struct flow *f = arg;

	ev_timer_stop(f->home->loop, &f->hello_late);
	requests_passed(&f->requests, bytes, n, passed);
}

static const struct gate requests_gate = { .look = look_at_requests, .passed = requests_were_passed };

/* The whole hello is here.  false: it must be cut. */
static bool
decide(struct flow *f, enum said what, const struct head *head, const char *name)
{
	f->look = LOOK_DONE;
	if (what == SAID_NAME && head->bytes > 0) {
		f->requests = (struct requests){ .first = true };
		f->out.gate = &requests_gate;
		f->out.arg = f;
	}
	return said(f, what, what == SAID_NAME ? name : "");
}

/* false: it must be cut. */
static bool
look(struct flow *f)
{
	char        name[LIM_DNS_NAME + 1] = "";
	struct head head;
	ssize_t     n = recv(f->client.fd, f->home->buffer, HELLO_MOST, MSG_PEEK);

	if (n == -1) {
		f->out.readable = errno != EAGAIN;
		return true; /* any other error is the pump's to find */
	}
	enum said what = hello_look(f->home->hello, f->home->buffer, (size_t)n, n == 0 || f->out.last, &head, name);
	if (what == SAID_MORE && n == HELLO_MOST)
		what = SAID_LONG;
	if (what == SAID_MORE)
		wait_for_more(f);
	else if (what == SAID_NOTHING)
		f->look = LOOK_SILENT;
	else
		return decide(f, what, &head, name);
	return true;
}

/* Before the client has said whom it is for.  false: it must be cut. */
static bool
server_is_silent(struct flow *f)
{
	char one;

	if ((f->look != LOOK_WAIT && f->look != LOOK_SILENT) || !f->in.readable)
		return true;
	return recv(f->server.fd, &one, 1, MSG_PEEK) <= 0 || said(f, SAID_SERVER_FIRST, "");
}

/* Does the server agree to leave HTTP?  false: that is not known yet. */
static bool
hear_answer(struct flow *f)
{
	char bytes[32];

	if (f->out.gate == NULL || f->requests.at != AT_ANSWER || f->requests.pass > 0 || !f->in.readable)
		return true;
	ssize_t n = recv(f->server.fd, bytes, sizeof(bytes), MSG_PEEK);
	if (n < 0)
		return true;
	if (!requests_answered(&f->requests, bytes, (size_t)n, n == 0 || f->in.last)) {
		f->in.readable = false;
		return false;
	}
	f->out.readable = true;
	turn_soon(f->home->fairq, &f->turn);
	return true;
}

bool
flow_look_now(struct flow *f)
{
	if (f->look != LOOK_NOT)
		return true;
	if (f->out.bytes > 0)
		return false;
	f->look = LOOK_WAIT;
	f->out.readable = true;
	turn_soon(f->home->fairq, &f->turn);
	return true;
}

/* ---- turns ------------------------------------------------------------------------ */

/* The events of a socket are for the pump that reads it and for the one that writes it; true: it has an error. */
static bool
take_news(struct wire *w, struct pump *reads, struct pump *writes)
{
	uint32_t seen = w->seen;

	w->seen = 0;
	if (seen & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		reads->readable = !reads->ended;
	if (seen & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		reads->last = true;
	if (seen & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		writes->writable = true;
	return seen & EPOLLERR;
}

/* In order: what is still on its way to a peer is delivered by the kernel. */
static void
let_go(int *fd)
{
	static const struct linger none = { 0 };

	(void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	fd_close(fd);
}

static void
tell_moved(struct flow *f, uint64_t sent, uint64_t received)
{
	if (f->out.bytes != sent || f->in.bytes != received)
		f->home->ops->moved(f->home->arg, f->out.bytes - sent, f->in.bytes - received);
}

/* What came from a side before its error is passed on first, as far as it is taken now. */
static bool
is_broken(const struct flow *f, enum pumped out, enum pumped in)
{
	return out == PUMP_FAILED || in == PUMP_FAILED || (f->client_error && out != PUMP_AGAIN) ||
	       (f->server_error && in != PUMP_AGAIN);
}

/* true: there is more to do. */
static bool
pump(struct flow *f)
{
	uint64_t    sent = f->out.bytes, received = f->in.bytes;
	enum pumped out = PUMP_WAITS, in = PUMP_WAITS;

	if (!server_is_silent(f)) {
		over(f, FLOW_DENIED);
		return false;
	}
	if (f->look != LOOK_WAIT)
		out = pump_run(&f->out, f->home->buffer);
	if (hear_answer(f))
		in = pump_run(&f->in, f->home->buffer);
	tell_moved(f, sent, received);
	if (out == PUMP_CUT) {
		over(f, FLOW_DENIED);
		return false;
	}
	if (is_broken(f, out, in)) {
		over(f, FLOW_BROKEN);
		return false;
	}
	if (f->out.ended && f->in.ended) {
		let_go(&f->client.fd);
		let_go(&f->server.fd);
		over(f, FLOW_ENDED);
		return false;
	}
	return out == PUMP_AGAIN || in == PUMP_AGAIN;
}

/* A client that goes while its connection is being made takes it along. */
static bool
take_turn(struct turn *t)
{
	struct flow *f = FLOW_OF(t);
	uint32_t     news = f->server.seen;

	f->client_error |= take_news(&f->client, &f->out, &f->in);
	f->server_error |= take_news(&f->server, &f->in, &f->out);
	if (f->connecting && (news & (EPOLLOUT | EPOLLHUP | EPOLLERR)) && finish_connecting(f, news) == -1) {
		over(f, FLOW_FAILED);
		return false;
	}
	if (f->look == LOOK_WAIT && f->out.readable && !look(f)) {
		over(f, FLOW_DENIED);
		return false;
	}
	if (!f->connecting)
		return pump(f);
	if (f->client_error)
		over(f, FLOW_BROKEN);
	return false;
}

/* ---- life --------------------------------------------------------------------------- */

int
flow_rename(struct flow *f, const char *const *names, size_t n)
{
	size_t size = n * sizeof(*names);

	for (size_t i = 0; i < n; i++)
		size += strlen(names[i]) + 1;
	const char **copy = malloc(size > 0 ? size : 1);
	if (copy == NULL)
		return -1;
	char *text = (char *)(copy + n);
	for (size_t i = 0; i < n; i++) {
		copy[i] = text;
		text = stpcpy(text, names[i]) + 1;
	}
	free(f->names);
	f->names = copy;
	f->n_names = n;
	return 0;
}

static struct flow *
flow_new(const struct flow_home *home, const struct flow_plan *plan)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->home = home;
	f->place = plan->place;
	f->look = plan->look ? LOOK_WAIT : LOOK_NOT;
	f->small = plan->small;
	f->since_ms = span_ms();
	f->turn = (struct turn){ .class = home->class, .fn = take_turn };
	f->client = (struct wire){ .turn = &f->turn, .fd = plan->client };
	f->server = (struct wire){ .turn = &f->turn, .fd = -1 };
	ev_timer_init(&f->late, on_late, FLOW_CONNECT_SEC, 0.);
	ev_timer_init(&f->hello_late, on_hello_late, FLOW_HELLO_SEC, 0.);
	f->late.data = f->hello_late.data = f;
	return f;
}

struct flow *
flow_open(const struct flow_home *home, const struct flow_plan *plan)
{
	struct flow *f = flow_new(home, plan);
	struct err   e;
	int          client = plan->client;

	if (f == NULL) {
		flow_reset(&client);
		errno = ENOMEM;
		return NULL;
	}
	if (flow_rename(f, plan->names, plan->n_names) == -1 || start_connecting(f) == -1 ||
	    fairq_watch(home->fairq, &f->client, &e) == -1 || fairq_watch(home->fairq, &f->server, &e) == -1) {
		int why = errno;

		flow_close(&f);
		errno = why;
		return NULL;
	}
	pump_init(&f->out, f->client.fd, f->server.fd);
	pump_init(&f->in, f->server.fd, f->client.fd);
	return f;
}

void
flow_close(struct flow **fp)
{
	struct flow *f = *fp;

	if (f == NULL)
		return;
	*fp = NULL;
	turn_stop(f->home->fairq, &f->turn);
	ev_timer_stop(f->home->loop, &f->late);
	ev_timer_stop(f->home->loop, &f->hello_late);
	flow_reset(&f->client.fd);
	flow_reset(&f->server.fd);
	free(f->names);
	free(f);
}
