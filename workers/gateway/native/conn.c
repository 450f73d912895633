/*
 * A conn greets, then is open: greeting lasts until the first whole frame.  The scanner goes on where it stopped
 * when more of a frame arrives.
 */
#include "native/conn.h"

#include <stdlib.h>

#include "base/bounds.h"
#include "wire/mp.h"

struct conn {
	struct flow           *flow; /* owned */
	const struct conn_ops *ops;
	void                  *arg;
	bool                   greeted; /* one whole frame has come */
	struct mp_scan         scan;    /* of the frame that comes next */
};

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

/* A method is capital letters; MessagePack-RPC begins with an array. */
static bool
is_http(const struct conn *c, const char *bytes)
{
	return !c->greeted && bytes[0] >= 'A' && bytes[0] <= 'Z';
}

static size_t
on_bytes(void *arg, const char *bytes, size_t n)
{
	struct conn *c = arg;

	if (is_http(c, bytes)) {
		c->ops->on_http(c->arg);
		return 0;
	}
	enum mp_verdict v = mp_scan(&c->scan, bytes, n, LIM_MESSAGE);
	if (v == MP_MORE) {
		if (c->greeted)
			flow_owe(c->flow, LIM_FRAME_SEC);
		return 0;
	}
	if (v != MP_WHOLE) {
		break_off(c, v);
		return 0;
	}
	n = c->scan.pos;
	c->scan = (struct mp_scan){ 0 };
	c->greeted = true;
	flow_owe(c->flow, 0);
	c->ops->on_frame(c->arg, bytes, n);
	return n;
}

static void
on_deadline(void *arg)
{
	struct conn *c = arg;
	struct err   e;

	if (!c->greeted)
		err_set(&e, E_PROTO, "no whole frame within %g s of connecting", LIM_HELLO_SEC);
	else
		err_set(&e, E_PROTO, "a frame was not whole after %g s", LIM_FRAME_SEC);
	c->ops->on_broken(c->arg, &e);
}

static void
on_gone(void *arg)
{
	struct conn *c = arg;

	c->ops->on_gone(c->arg);
}

static const struct flow_ops ops = { .on_bytes = on_bytes, .on_deadline = on_deadline, .on_gone = on_gone };

void
conn_send(struct conn *c, struct buf *b)
{
	flow_send(c->flow, b);
}

void
conn_hold(struct conn *c, enum flow_hold why)
{
	flow_hold(c->flow, why);
}

void
conn_release(struct conn *c, enum flow_hold why)
{
	flow_release(c->flow, why);
}

void
conn_finish(struct conn *c, const char *reason)
{
	flow_finish(c->flow, reason);
}

struct flow *
conn_take_flow(struct conn *c)
{
	struct flow *s = c->flow;

	c->flow = NULL;
	return s;
}

struct conn *
conn_open(struct ev_loop *loop, int fd, uint64_t id, const struct conn_ops *conn_ops, void *arg, struct err *e)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		err_set(e, E_SYS, "no memory for a connection");
		return NULL;
	}
	c->ops = conn_ops;
	c->arg = arg;
	c->flow = flow_open(loop, fd, id, NULL, &ops, c, e);
	if (c->flow == NULL) {
		free(c);
		return NULL;
	}
	flow_owe(c->flow, LIM_HELLO_SEC);
	return c;
}

void
conn_close(struct conn **cp)
{
	struct conn *c = *cp;

	if (c == NULL)
		return;
	*cp = NULL;
	flow_close(&c->flow);
	free(c);
}
