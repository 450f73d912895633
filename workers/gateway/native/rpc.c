/*
 * A client's request walks: frame -> decoded and checked -> supervisor, with the
 * connection id as the envelope's conn.  Its reply walks back by that id and by
 * the request id, both never reused: a reply whose client or request is gone
 * finds nobody, which is no error.
 *
 * Who is wrong pays.  A bad request gets an error reply and a bad notice a log
 * line, and the connection lives on; a broken envelope means that nothing behind
 * it can be trusted either, so the client gets CLOSING and is dropped.
 *
 * A connection is announced as native before its first byte: a client that may not use this boxd learns it at once.  When
 * that byte is one of HTTP, it leaves, and comes again as a client of http/ under another id.
 */
#include "native/rpc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/tally.h"
#include "native/calls.h"
#include "native/conn.h"

enum {
	PINGS_HIGH = 1024, /* unanswered pings of one client: read it later */
	PINGS_LOW = PINGS_HIGH / 2,
};

struct client {
	LIST_ENTRY(client) next;
	struct rpc    *rpc;
	struct conn   *conn;   /* owned */
	struct caller *caller; /* owned */
	uint64_t       id;
	bool           heard;     /* it has sent a frame */
	bool           leaving;   /* it was told goodbye */
	bool           called;    /* last_call is one */
	uint64_t       last_call; /* greatest request id so far */
	struct calls   calls;
};

LIST_HEAD(clients, client);

struct rpc {
	struct ev_loop *loop;
	struct uplink  *up;      /* borrowed */
	rpc_http       *on_http; /* takes clients that speak it */
	void           *arg;
	struct clients  clients; /* owned; newest first */
	struct tally    refusals;
};

/* ---- to the client --------------------------------------------------------------- */

static void
say_error(struct client *c, uint64_t id, const struct err *why)
{
	struct packet p = { .stream = true };
	struct err    e;

	if (msg_encode_error(&p, id, 0, why, &e) == 0)
		conn_send(c->conn, &p.bytes);
	packet_clear(&p);
}

static void
say_closing(struct client *c, const char *code, const char *reason)
{
	struct msg_closing bye = { .code = code, .reason = reason };
	struct packet      p = { .stream = true };
	struct err         e;

	if (msg_encode(&p, MSG_CLOSING, 0, 0, &bye, &e) == 0)
		conn_send(c->conn, &p.bytes);
	packet_clear(&p);
	c->leaving = true;
	conn_finish(c->conn, reason);
}

static void
on_broken(void *arg, const struct err *why)
{
	say_closing(arg, err_wire_name(why->code), why->text);
}

/* ---- from the client -------------------------------------------------------------- */

static int
check_id(struct client *c, uint64_t id, struct err *e)
{
	if (c->called && id <= c->last_call)
		return err_set(
		    e, E_PROTO, "request id %lu is not greater than %lu, which was used already", id, c->last_call);
	c->called = true;
	c->last_call = id;
	return 0;
}

static int
check_budget(struct client *c, enum msg_type t, struct err *e)
{
	if (t != MSG_PING && c->calls.n - c->calls.pings >= LIM_CONN_INFLIGHT)
		return err_set(e, E_BUSY, "%s: wait for a reply first (max %d requests in flight)", msg_name(t),
		    LIM_CONN_INFLIGHT);
	return 0;
}

static int
on_request(struct client *c, const struct msg *m, struct err *e)
{
	if (check_budget(c, m->type, e) == -1)
		return -1;
	/* the table first: what was sent cannot be taken back */
	if (calls_add(&c->calls, m->id, m->type, e) == -1)
		return -1;
	if (caller_send(c->caller, m->type, m->id, m->body, e) == -1) {
		calls_take(&c->calls, m->id);
		return -1;
	}
	if (c->calls.pings >= PINGS_HIGH)
		conn_hold(c->conn, HOLD_PINGS);
	return 0;
}

static void
on_notice(struct client *c, const struct msg *m)
{
	struct err e;

	if (caller_send(c->caller, m->type, 0, m->body, &e) == -1)
		log_warn("conn=%lu %s lost reason=\"%s\"", c->id, msg_name(m->type), e.text);
}

/* m could not be decoded because of why. */
static void
on_invalid(struct client *c, const struct msg *m, const struct err *why)
{
	struct err e;

	if (!m->whole)
		on_broken(c, why);
	else if (m->envelope == ENV_NOTICE)
		log_info("conn=%lu bad notice reason=\"%s\"", c->id, why->text);
	else
		say_error(c, m->id, check_id(c, m->id, &e) == -1 ? &e : why);
}

static void
on_valid(struct client *c, const struct msg *m)
{
	struct err e;

	if (m->envelope == ENV_NOTICE)
		on_notice(c, m);
	else if (check_id(c, m->id, &e) == -1 || on_request(c, m, &e) == -1)
		say_error(c, m->id, &e);
}

static void
on_frame(void *arg, const char *bytes, size_t n)
{
	static const int no_fds[1] = { -1 };
	struct client   *c = arg;
	struct err       e;
	struct msg       m;

	c->heard = true;
	if (msg_decode(&m, bytes, n, no_fds, 0, FROM_CLIENT, &e) == -1)
		on_invalid(c, &m, &e); /* replies too: a client has nothing to reply to */
	else
		on_valid(c, &m);
	msg_clear(&m);
}

static void
client_close(struct client *c)
{
	LIST_REMOVE(c, next);
	conn_close(&c->conn);
	caller_close(&c->caller);
	calls_clear(&c->calls);
	free(c);
}

static void
on_http(void *arg)
{
	struct client *c = arg;
	struct rpc    *r = c->rpc;
	struct flow   *s = conn_take_flow(c->conn);

	client_close(c);
	r->on_http(r->arg, s);
}

static void
on_gone(void *arg)
{
	client_close(arg);
}

/* ---- from the supervisor ------------------------------------------------------------ */

static int
encode_reply(struct packet *p, enum msg_type request, struct msg *m, struct err *e)
{
	enum msg_type t = msg_def(request)->result;

	if (m->failed)
		return msg_encode_error(p, m->id, 0, &m->error, e);
	if (msg_expect(m, t, e) == -1)
		return err_prefix(e, "boxd's reply to %s", msg_name(request));
	return msg_encode_reply(p, t, m->id, 0, m->body, e);
}

static void
on_reply(struct client *c, struct msg *m)
{
	struct packet p = { .stream = true };
	struct err    e;
	enum msg_type request = calls_take(&c->calls, m->id);

	if (request == MSG_NONE)
		return;
	if (encode_reply(&p, request, m, &e) == 0)
		conn_send(c->conn, &p.bytes);
	else {
		log_error("conn=%lu request=%lu reply lost reason=\"%s\"", c->id, m->id, e.text);
		say_error(c, m->id, &e);
	}
	packet_clear(&p);
	if (c->calls.pings <= PINGS_LOW)
		conn_release(c->conn, HOLD_PINGS);
}

static void
on_output(struct client *c, struct msg *m)
{
	struct packet p = { .stream = true };
	struct err    e;

	if (msg_encode(&p, MSG_OUTPUT, 0, 0, m->body, &e) == 0)
		conn_send(c->conn, &p.bytes);
	else { /* a gap the client could not see is worse than no connection */
		packet_clear(&p);
		on_broken(c, &e);
	}
	packet_clear(&p);
}

static void
on_closing(struct client *c, struct msg *m)
{
	const struct msg_closing *bye = m->body;

	say_closing(c, bye->code, bye->reason);
}

/* What the supervisor may tell a client; all else it may send is not for here. */
static void (*const on[MSG__COUNT])(struct client *, struct msg *) = {
	[MSG_OUTPUT] = on_output,
	[MSG_CLOSING] = on_closing,
};

static void
on_msg(void *arg, struct msg *m)
{
	if (m->envelope == ENV_REPLY)
		on_reply(arg, m);
	else if (on[m->type] == NULL)
		log_error("a native client takes no %s", msg_name(m->type));
	else
		on[m->type](arg, m);
}

static void
on_congested(void *arg, bool congested)
{
	struct client *c = arg;

	(congested ? conn_hold : conn_release)(c->conn, HOLD_LINK);
}

/* ---- open, accept, close -------------------------------------------------------------- */

static const struct conn_ops conn_ops = {
	.on_frame = on_frame, .on_broken = on_broken, .on_http = on_http, .on_gone = on_gone
};

static const struct caller_ops caller_ops = { .on_msg = on_msg, .on_congested = on_congested };

static struct client *
client_open(struct rpc *r, int *fd, struct err *e)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		err_set(e, E_SYS, "no memory for a client");
		return NULL;
	}
	c->rpc = r;
	c->caller = caller_open(r->up, &caller_ops, c, e);
	if (c->caller != NULL) {
		c->id = caller_id(c->caller);
		c->conn = conn_open(r->loop, *fd, c->id, &conn_ops, c, e);
	}
	if (c->conn == NULL) {
		caller_close(&c->caller);
		free(c);
		return NULL;
	}
	fd_take(fd);
	LIST_INSERT_HEAD(&r->clients, c, next);
	return c;
}

void
rpc_accept(struct rpc *r, int accepted)
{
	AUTO_FD int    fd = accepted;
	struct err     e;
	struct client *c = client_open(r, &fd, &e);

	if (c == NULL) {
		log_warn("client refused reason=\"%s\"", e.text);
		return;
	}
	if (caller_announce(c->caller, accepted, SPEAKS_NATIVE, &e) == -1) {
		say_closing(c, err_wire_name(E_BUSY), e.text);
		return;
	}
	log_debug("conn=%lu open", c->id);
}

bool
rpc_make_room(struct rpc *r)
{
	static const char reason[] = "it sent nothing, and another client needed its place";
	struct client    *c, *oldest = NULL;

	LIST_FOREACH (c, &r->clients, next)
		if (!c->heard && !c->leaving)
			oldest = c;
	if (oldest == NULL)
		return false;
	if (tally_line(&r->refusals, reason))
		log_info("conn=%lu closed reason=\"%s\"", oldest->id, reason);
	say_closing(oldest, err_wire_name(E_BUSY), "another client needed this place; try again later");
	return true;
}

void
rpc_refuse(struct rpc *r, int fd)
{
	static const char  full[] = "too many connections";
	struct msg_closing bye = { .code = err_wire_name(E_BUSY), .reason = "too many connections; try again later" };
	struct packet      p = { .stream = true };
	struct err         e;

	if (tally_line(&r->refusals, full))
		log_info("client refused reason=\"%s\"", full);
	/* a fresh socket takes so few bytes or the client is gone */
	if (msg_encode(&p, MSG_CLOSING, 0, 0, &bye, &e) == 0)
		(void)!send(fd, p.bytes.data, p.bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	packet_clear(&p);
}

struct rpc *
rpc_open(struct ev_loop *loop, struct uplink *up, rpc_http *http, void *arg, struct err *e)
{
	struct rpc *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		err_set(e, E_SYS, "no memory for native clients");
		return NULL;
	}
	*r = (struct rpc){ .loop = loop, .up = up, .on_http = http, .arg = arg };
	tally_init(&r->refusals, loop, "clients of the control socket were refused");
	return r;
}

void
rpc_close(struct rpc **rp)
{
	struct rpc *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	while (!LIST_EMPTY(&r->clients))
		client_close(LIST_FIRST(&r->clients));
	tally_clear(&r->refusals);
	free(r);
}
