/*
 * A question, from a datagram or a stream, is
 *
 *	read -> charged -> answered here, or judged -> answered NXDOMAIN, or asked for -> waits -> answered
 *
 * and ends in one reply, or in silence if it was none.  One that waits is on a list of its session until the resolver
 * is done with it, also when the stream it came by has closed: so nobody gets more asked at a time than WAITING_MOST.
 *
 * Names can carry data out, and answers can carry it in.  Bytes of both are paid for from a purse that fills evenly;
 * an answer is paid for when it comes and may leave a debt, so what a minute brings is the bound in the long run.  Who
 * has spent all of it is refused, and read a few packets every tenth of a second, so that refusing costs little too.
 */
#include "dns/dns.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/fd.h"
#include "dns/dns_local.h"
#include "dns/dns_packet.h"
#include "dns/dns_stream.h"
#include "dns/resolver.h"

enum {
	BURST = 32, /* datagrams read before other watchers get their turn */
	WAITING_MOST = 64,
	STREAMS_MOST = 8,
};

static const double REST_SEC = .1;

/* Where a question came from, and its reply goes to. */
struct origin {
	struct dns_stream      *stream; /* lent; NULL: by UDP, or it has closed meanwhile */
	bool                    is_tcp;
	struct sockaddr_storage from;
	socklen_t               from_len;
};

struct waiting {
	TAILQ_ENTRY(waiting) next;
	struct dns     *dns;
	struct ask     *ask; /* lent; dropped when the session closes */
	struct origin   origin;
	struct question q;
};

struct dns {
	struct ev_loop       *loop;
	struct resolver      *resolver; /* lent */
	int                   udp;      /* owned */
	const struct dns_ops *ops;
	void                 *arg;
	double                purse, purse_most; /* bytes; below 0: a debt */
	uint64_t              purse_us;          /* when it was filled */
	TAILQ_HEAD(, waiting) waiting;           /* owned */
	size_t             n_waiting;
	struct dns_stream *streams[STREAMS_MOST]; /* owned; NULL: free */
	ev_io              ready;                 /* runs unless resting */
	ev_timer           rest;                  /* runs after a refusal */
};

/* ---- the purse ------------------------------------------------------------------------ */

static void
fill(struct dns *d)
{
	uint64_t now = span_us();

	d->purse += d->purse_most * (double)(now - d->purse_us) / 60e6;
	d->purse_us = now;
	if (d->purse > d->purse_most)
		d->purse = d->purse_most;
}

/* For a question, before it is looked at; false: it cannot be.  An empty packet is not free. */
static bool
pay(struct dns *d, size_t bytes)
{
	double price = (double)(bytes < LDNS_HEADER_SIZE ? LDNS_HEADER_SIZE : bytes);

	fill(d);
	if (d->purse < price)
		return false;
	d->purse -= price;
	return true;
}

/* ---- resting -------------------------------------------------------------------------- */

static void
hold_streams(struct dns *d, bool held)
{
	for (int i = 0; i < STREAMS_MOST; i++)
		if (d->streams[i] != NULL)
			dns_stream_hold(d->streams[i], held);
}

static void
rest(struct dns *d)
{
	if (ev_is_active(&d->rest))
		return;
	ev_timer_set(&d->rest, REST_SEC, 0.);
	ev_timer_start(d->loop, &d->rest);
	ev_io_stop(d->loop, &d->ready);
	hold_streams(d, true);
}

static void
on_rested(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct dns *d = w->data;

	ev_io_start(loop, &d->ready);
	hold_streams(d, false);
}

/* ---- replies -------------------------------------------------------------------------- */

/* What a client does not take is lost, as with any datagram. */
static void
send_reply(struct dns *d, const struct origin *o, struct reply *r)
{
	if (o->stream != NULL)
		dns_stream_reply(o->stream, r->bytes, r->n);
	else if (!o->is_tcp)
		sendto(d->udp, r->bytes, r->n, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&o->from,
		    o->from_len);
	reply_clear(r);
}

/* false: there was no memory for it. */
static bool
reply_pass(struct dns *d, const struct origin *o, struct reply *r, bool made)
{
	if (!made)
		return false;
	d->purse -= (double)r->n;
	send_reply(d, o, r);
	return true;
}

static bool
answer_rcode(struct dns *d, const struct origin *o, const struct question *q, int rcode)
{
	struct reply r = { 0 };

	return reply_pass(d, o, &r, reply_rcode(&r, q, rcode));
}

/* Not charged: it is the purse that is empty. */
static bool
question_refuse(struct dns *d, const struct origin *o, const struct question *q)
{
	struct reply r = { 0 };
	bool         made = reply_rcode(&r, q, LDNS_RCODE_REFUSED);

	if (made)
		send_reply(d, o, &r);
	d->ops->over_limit(d->arg);
	rest(d);
	return made;
}

/* ---- questions that wait --------------------------------------------------------------- */

static void
waiting_drop(struct waiting *w)
{
	TAILQ_REMOVE(&w->dns->waiting, w, next);
	w->dns->n_waiting--;
	ask_drop(&w->ask);
	free(w);
}

static bool
on_address(void *arg, const struct netaddr *a, uint32_t ttl_sec)
{
	struct waiting *w = arg;

	return w->dns->ops->address(w->dns->arg, w->q.name, a, ttl_sec);
}

static void
on_answer(void *arg, const uint8_t *bytes, size_t n)
{
	struct waiting *w = arg;
	struct reply    r = { 0 };
	size_t          most = w->origin.is_tcp ? REPLY_TCP_MOST : w->q.udp_most;
	bool            made;

	w->ask = NULL;
	if (bytes == NULL)
		made = reply_rcode(&r, &w->q, LDNS_RCODE_SERVFAIL);
	else
		made = reply_answer(&r, &w->q, most, bytes, n, on_address, w);
	if (n > r.n)
		w->dns->purse -= (double)(n - r.n); /* what came was read, also if little of it is passed on */
	if (!reply_pass(w->dns, &w->origin, &r, made) && w->origin.stream != NULL)
		dns_stream_fail(w->origin.stream);
	waiting_drop(w);
}

static bool
ask(struct dns *d, const struct origin *o, const struct question *q)
{
	struct waiting *w = d->n_waiting < WAITING_MOST ? calloc(1, sizeof(*w)) : NULL;

	if (w == NULL)
		return question_refuse(d, o, q);
	w->dns = d;
	w->origin = *o;
	w->q = *q;
	TAILQ_INSERT_TAIL(&d->waiting, w, next);
	d->n_waiting++;
	w->ask = resolver_ask(d->resolver, q->name, q->type, on_answer, w);
	if (w->ask != NULL)
		return true;
	waiting_drop(w);
	return answer_rcode(d, o, q, LDNS_RCODE_SERVFAIL);
}

/* ---- a question ------------------------------------------------------------------------ */

/* Their records may have addresses in them, which nobody would judge; without one, clients ask for the addresses. */
static bool
has_hints(uint16_t type)
{
	return type == LDNS_RR_TYPE_HTTPS || type == LDNS_RR_TYPE_SVCB;
}

static bool
answer_question(struct dns *d, const struct origin *o, const struct question *q)
{
	enum local     local = local_name(q->name);
	struct reply   r = { 0 };
	struct verdict v;

	if (local == LOCAL_LOOPBACK)
		return reply_pass(d, o, &r, reply_loopback(&r, q));
	if (local == LOCAL_NXDOMAIN)
		return answer_rcode(d, o, q, LDNS_RCODE_NXDOMAIN);
	d->ops->judge(d->arg, q->name, &v);
	if (!v.allowed)
		return answer_rcode(d, o, q, LDNS_RCODE_NXDOMAIN);
	if (has_hints(q->type))
		return answer_rcode(d, o, q, LDNS_RCODE_NOERROR);
	return ask(d, o, q);
}

/* true: a reply was sent, or will be. */
static bool
take_question(struct dns *d, const struct origin *o, const uint8_t *bytes, size_t n)
{
	struct question q;
	int             rcode = question_parse(&q, bytes, n);

	if (!pay(d, n)) {
		rest(d);
		return rcode != QUESTION_SILENCE && question_refuse(d, o, &q);
	}
	if (rcode == QUESTION_SILENCE)
		return false;
	return rcode == 0 ? answer_question(d, o, &q) : answer_rcode(d, o, &q, rcode);
}

static void
on_datagram(struct ev_loop *loop, ev_io *io, int revents)
{
	struct dns *d = io->data;
	uint8_t     bytes[QUESTION_MOST + 1]; /* one more: a longer one is seen to be too long */

	for (int i = 0; i < BURST; i++) {
		struct origin o = { .from_len = sizeof(o.from) };
		ssize_t       n = recvfrom(
			  d->udp, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&o.from, &o.from_len);

		if (n >= 0)
			take_question(d, &o, bytes, (size_t)n);
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR)
			rest(d); /* whatever it is, it may be there again at once */
	}
}

/* ---- streams --------------------------------------------------------------------------- */

static bool
on_stream_question(void *arg, struct dns_stream *s, const uint8_t *bytes, size_t n)
{
	struct origin o = { .stream = s, .is_tcp = true };

	return take_question(arg, &o, bytes, n);
}

/* Its questions wait on, and their replies go nowhere. */
static void
on_stream_gone(void *arg, struct dns_stream *s)
{
	struct dns     *d = arg;
	struct waiting *w;

	TAILQ_FOREACH (w, &d->waiting, next)
		if (w->origin.stream == s)
			w->origin.stream = NULL;
	for (int i = 0; i < STREAMS_MOST; i++)
		if (d->streams[i] == s)
			dns_stream_close(&d->streams[i]);
}

static const struct dns_stream_ops stream_ops = { .on_question = on_stream_question, .on_gone = on_stream_gone };

void
dns_take(struct dns *d, int taken)
{
	AUTO_FD int fd = taken;

	for (int i = 0; i < STREAMS_MOST; i++)
		if (d->streams[i] == NULL) {
			d->streams[i] = dns_stream_open(d->loop, fd_take(&fd), &stream_ops, d);
			if (d->streams[i] != NULL)
				dns_stream_hold(d->streams[i], ev_is_active(&d->rest));
			return;
		}
	d->ops->over_limit(d->arg);
}

/* ---- life ------------------------------------------------------------------------------ */

struct dns *
dns_open(struct ev_loop *loop, struct resolver *r, int udp, uint64_t bytes_per_minute, const struct dns_ops *ops,
    void *arg, struct err *e)
{
	struct dns *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		err_set(e, E_SYS, "no memory for the names of a session");
		return NULL;
	}
	d->loop = loop;
	d->resolver = r;
	d->udp = udp;
	d->ops = ops;
	d->arg = arg;
	d->purse = d->purse_most = (double)bytes_per_minute;
	d->purse_us = span_us();
	TAILQ_INIT(&d->waiting);
	ev_io_init(&d->ready, on_datagram, udp, EV_READ);
	ev_timer_init(&d->rest, on_rested, REST_SEC, 0.);
	d->ready.data = d->rest.data = d;
	ev_io_start(loop, &d->ready);
	return d;
}

void
dns_close(struct dns **dp)
{
	struct dns     *d = *dp;
	struct waiting *w;

	if (d == NULL)
		return;
	*dp = NULL;
	while ((w = TAILQ_FIRST(&d->waiting)) != NULL)
		waiting_drop(w);
	for (int i = 0; i < STREAMS_MOST; i++)
		dns_stream_close(&d->streams[i]);
	ev_io_stop(d->loop, &d->ready);
	ev_timer_stop(d->loop, &d->rest);
	fd_close(&d->udp);
	free(d);
}
