/*
 * When the supervisor does not keep up, nobody is read or accepted until the link
 * has drained.  The one thing that must not get lost then is CONN_GONE, or the
 * supervisor would keep the connection for ever: records of clients that left
 * wait in a list until the link takes their notice.
 */
#include "uplink.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/log.h"

enum {
	LINK_HIGH = LIM_LINK_QUEUE / 4, /* packets waiting: stop reading clients */
	LINK_LOW = LIM_LINK_QUEUE / 16, /* go on */
};

static const double DRAIN_SEC = 0.01; /* how often a congested link is looked at */

struct caller {
	LIST_ENTRY(caller) next; /* in its bucket, or in unsaid */
	struct uplink           *up;
	uint64_t                 id;
	bool                     announced; /* the supervisor knows it */
	const struct caller_ops *ops;
	void                    *arg;
};

LIST_HEAD(callers, caller);

struct uplink {
	struct ev_loop   *loop;
	struct link      *link; /* borrowed */
	uplink_congested *on_congested;
	void             *arg;
	uint64_t          next_conn;
	size_t            count;   /* in the buckets */
	struct callers   *buckets; /* owned; by id, ids count up, so the low bits spread them evenly */
	size_t            mask;    /* buckets less one, a power of two less one */
	struct callers    unsaid;  /* owned; gone, and the supervisor not yet told */
	ev_timer          drain;   /* runs while the link is congested */
};

static struct callers *
bucket(struct uplink *u, uint64_t id)
{
	assert((u->mask & (u->mask + 1)) == 0);
	return &u->buckets[id & u->mask];
}

static struct caller *
caller_find(struct uplink *u, uint64_t id)
{
	struct caller *c;

	LIST_FOREACH (c, bucket(u, id), next)
		if (c->id == id)
			return c;
	return NULL;
}

/* ---- congestion -------------------------------------------------------------------- */

static void
tell_all(struct uplink *u, bool congested)
{
	struct caller *c;

	u->on_congested(u->arg, congested);
	for (size_t i = 0; i <= u->mask; i++)
		LIST_FOREACH (c, &u->buckets[i], next)
			c->ops->on_congested(c->arg, congested);
}

/* Nobody is read or accepted until on_drain. */
static void
congest(struct uplink *u)
{
	if (ev_is_active(&u->drain))
		return;
	log_warn("link congested packets=%zu", link_queued(u->link));
	ev_timer_again(u->loop, &u->drain);
	tell_all(u, true);
}

int
caller_send(struct caller *c, enum msg_type t, uint64_t id, const void *body, struct err *e)
{
	int r = link_send(c->up->link, t, id, c->id, body, e);

	if (link_queued(c->up->link) >= LINK_HIGH)
		congest(c->up);
	return r;
}

/* What the link does not take now waits for on_drain. */
static void
say_gone(struct uplink *u)
{
	struct msg_conn_gone none;
	struct caller       *c;
	struct err           e;

	while ((c = LIST_FIRST(&u->unsaid)) != NULL) {
		if (c->announced && caller_send(c, MSG_CONN_GONE, 0, &none, &e) == -1 && e.code != E_CRASH)
			break;
		LIST_REMOVE(c, next);
		free(c);
	}
	if (c != NULL)
		congest(u);
}

static void
on_drain(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct uplink *u = w->data;

	say_gone(u);
	if (link_queued(u->link) > LINK_LOW || !LIST_EMPTY(&u->unsaid))
		return;
	ev_timer_stop(loop, w);
	log_info("link drained");
	tell_all(u, false);
}

/* ---- callers ------------------------------------------------------------------------ */

struct caller *
caller_open(struct uplink *u, const struct caller_ops *ops, void *arg, struct err *e)
{
	struct caller *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		err_set(e, E_SYS, "no memory for a client");
		return NULL;
	}
	*c = (struct caller){ .up = u, .id = u->next_conn++, .ops = ops, .arg = arg };
	LIST_INSERT_HEAD(bucket(u, c->id), c, next);
	u->count++;
	return c;
}

uint64_t
caller_id(const struct caller *c)
{
	return c->id;
}

int
caller_announce(struct caller *c, int fd, enum speaks speaks, struct err *e)
{
	struct msg_conn_open hello = { .peer = fd, .speaks = speaks };

	if (caller_send(c, MSG_CONN_OPEN, 0, &hello, e) == -1)
		return -1;
	c->announced = true;
	if (ev_is_active(&c->up->drain)) /* it came during congestion */
		c->ops->on_congested(c->arg, true);
	return 0;
}

void
caller_close(struct caller **cp)
{
	struct caller *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	/* out of the bucket first: saying it may find the link congested, and then all in there are held */
	LIST_REMOVE(c, next);
	assert(c->up->count > 0);
	c->up->count--;
	LIST_INSERT_HEAD(&c->up->unsaid, c, next);
	say_gone(c->up);
}

/* ---- the whole ------------------------------------------------------------------------ */

void
uplink_deliver(struct uplink *u, struct msg *m)
{
	struct caller *c = caller_find(u, m->conn);

	if (c == NULL)
		log_debug(
		    "conn=%lu is gone, dropped %s", m->conn, m->envelope == ENV_REPLY ? "a reply" : msg_name(m->type));
	else
		c->ops->on_msg(c->arg, m);
}

size_t
uplink_callers(const struct uplink *u)
{
	return u->count;
}

struct uplink *
uplink_open(struct ev_loop *loop, struct link *link, uint64_t next_conn, size_t most, uplink_congested *on_congested,
    void *arg, struct err *e)
{
	struct uplink *u = calloc(1, sizeof(*u));
	size_t         n = 1;

	while (n < most)
		n *= 2;
	if (u == NULL || (u->buckets = calloc(n, sizeof(*u->buckets))) == NULL) {
		free(u);
		err_set(e, E_SYS, "no memory for %zu clients", most);
		return NULL;
	}
	u->loop = loop;
	u->link = link;
	u->on_congested = on_congested;
	u->arg = arg;
	u->next_conn = next_conn;
	u->mask = n - 1;
	ev_timer_init(&u->drain, on_drain, 0., DRAIN_SEC);
	u->drain.data = u;
	return u;
}

void
uplink_close(struct uplink **up)
{
	struct uplink *u = *up;
	struct caller *c;

	if (u == NULL)
		return;
	*up = NULL;
	ev_timer_stop(u->loop, &u->drain);
	while ((c = LIST_FIRST(&u->unsaid)) != NULL) {
		LIST_REMOVE(c, next);
		free(c);
	}
	free(u->buckets);
	free(u);
}
