#include "net_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "rules/refusals.h"
#include "net_session_impl.h"

enum {
	REFUSALS_BURST = 64,      /* messages before others get their turn */
	CATCH_UP_REFUSALS = 8192, /* more than a socket holds */
	CATCH_UP_ACCEPT = 1024,
};

/* ---- names ------------------------------------------------------------------------- */

static void
on_question(void *arg, const char *name, struct verdict *v)
{
	struct net_session *t = arg;

	t->numbers.dns_queries++;
	net_session_changed(t);
	access_judge_name(&t->access, name, v);
	if (!v->allowed)
		net_session_deny(t, NET_DNS, name, &(struct netaddr){ 0 }, 0, v->rule);
}

/*
 * An address that no rule could open is not passed on: it would only show what there is in this network.  Others are
 * judged when they are connected to, when the port is known.
 */
static bool
on_address(void *arg, const char *name, const struct netaddr *a, uint32_t ttl_sec)
{
	struct net_session *t = arg;
	struct place        p;
	struct verdict      v;

	access_place(&t->access, a, 0, &p);
	if (p.way == WAY_NONE)
		return false;
	if ((p.way == WAY_OWN || netrange_of(a) != NULL) && !access_somewhere(&t->access, &p, name, &v)) {
		net_session_deny(t, NET_DNS, name, a, 0, v.rule);
		return false;
	}
	access_pin(&t->access, a, name, ttl_sec);
	return true;
}

static void
on_over_limit(void *arg)
{
	struct net_session *t = arg;

	t->numbers.over_limit++;
	net_session_changed(t);
}

static const struct dns_ops dns_ops = { .judge = on_question, .address = on_address, .over_limit = on_over_limit };

/* ---- what the namespace refused ------------------------------------------------------ */

static void
on_refusal(void *arg, const struct refusal *r)
{
	struct net_session *t = arg;
	struct names        names;
	char                rule[LIM_NET_RULE + 1];

	if (r->too_fast) {
		on_over_limit(t);
		return;
	}
	refusal_rule(r, rule);
	access_names(&t->access, &r->to, &names);
	net_session_deny(t, r->kind, names.n > 0 ? names.v[0] : "", &r->to, r->port, rule);
}

static void
on_refused(struct ev_loop *loop, ev_io *w, int revents)
{
	struct net_session *t = w->data;

	refusals_take(t->refusals, REFUSALS_BURST, on_refusal, t);
}

void
net_session_catch_up(struct net_session *t)
{
	if (t->refusals != -1)
		refusals_take(t->refusals, CATCH_UP_REFUSALS, on_refusal, t);
	net_session_accept(t, CATCH_UP_ACCEPT);
}

/* ---- life ---------------------------------------------------------------------------- */

static int
open_access(struct net_session *t, const struct msg_egress_open *m, struct err *e)
{
	t->access.routes = t->egress->routes;
	t->access.boxd_ports = &t->egress->boxd_ports;
	t->access.set = rule_sets_find(t->egress->sets, t->set);
	if ((t->access.pins = pins_open()) == NULL)
		return err_set(e, E_SYS, "no memory for names");
	if (m->narrow.n == 0)
		return 0;
	return compiled_rules_init(&t->access.narrow, m->narrow.v, m->narrow.n, e);
}

static int
open_sockets(struct net_session *t, struct msg *m, struct err *e)
{
	const struct msg_egress_open *o = m->body;
	struct egress                *g = t->egress;

	t->dns = dns_open(g->loop, g->resolver, o->dns, g->dns_bytes, &dns_ops, t, e);
	if (t->dns == NULL)
		return -1;
	msg_take_fd(m, o->dns);
	t->listener = msg_take_fd(m, o->listener);
	t->refusals = msg_take_fd(m, o->refusals);
	if (t->refusals != -1) {
		ev_io_set(&t->refused, t->refusals, EV_READ);
		ev_io_start(g->loop, &t->refused);
	}
	return net_session_accept_init(t, e);
}

static struct net_session *
net_session_new(struct egress *g, uint64_t id)
{
	struct net_session *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->egress = g;
	t->id = id;
	t->listener = t->refusals = -1;
	g->tenants++;
	TAILQ_INIT(&t->flows);
	fairq_class_init(&t->class);
	net_session_tell_init(t);
	ev_init(&t->refused, on_refused);
	t->refused.data = t;
	t->home = (struct flow_home){
		.loop = g->loop,
		.fairq = g->fairq,
		.hello = g->hello,
		.buffer = g->buffer,
		.class = &t->class,
		.ops = &net_session_flow_ops,
		.arg = t,
	};
	return t;
}

struct net_session *
net_session_open(struct egress *g, struct msg *m, struct err *e)
{
	const struct msg_egress_open *o = m->body;
	struct net_session           *t = net_session_new(g, o->id);

	if (t == NULL || (t->set = strdup(o->set)) == NULL) {
		err_set(e, E_SYS, "no memory for a network");
		net_session_close(&t);
		return NULL;
	}
	net_session_remember(t, &o->before);
	if (open_access(t, o, e) == -1 || open_sockets(t, m, e) == -1)
		net_session_close(&t);
	return t;
}

static void
cut_flows(struct net_session *t)
{
	struct flow *f;

	while ((f = TAILQ_FIRST(&t->flows)) != NULL) {
		TAILQ_REMOVE(&t->flows, f, next);
		t->egress->flows--;
		flow_close(&f);
	}
}

void
net_session_close(struct net_session **tp)
{
	struct net_session *t = *tp;
	struct ev_loop     *loop;

	if (t == NULL)
		return;
	*tp = NULL;
	loop = t->egress->loop;
	ev_io_stop(loop, &t->knocking);
	ev_io_stop(loop, &t->refused);
	ev_timer_stop(loop, &t->away);
	ev_timer_stop(loop, &t->telling);
	cut_flows(t);
	dns_close(&t->dns);
	fd_close(&t->listener);
	fd_close(&t->refusals);
	pins_close(&t->access.pins);
	compiled_rules_clear(&t->access.narrow);
	denials_clear(&t->denials);
	t->egress->tenants--;
	free(t->set);
	free(t);
}

uint64_t
net_session_id(const struct net_session *t)
{
	return t->id;
}

/* ---- other rules ----------------------------------------------------------------------- */

/* By the names it was allowed for: whether the session is still told them does not matter to what is open. */
static bool
may_stay(struct net_session *t, struct flow *f, struct verdict *v)
{
	access_judge(&t->access, &f->place, f->names, f->n_names, v);
	if (!v->allowed)
		return false;
	if (!v->by_name || flow_look_now(f))
		return true;
	snprintf(v->rule, sizeof(v->rule), "deny all: allowed for a name only, and the connection is older than that");
	return false;
}

void
net_session_rejudge(struct net_session *t)
{
	struct flow   *f, *following;
	struct verdict v;

	t->access.set = rule_sets_find(t->egress->sets, t->set);
	for (f = TAILQ_FIRST(&t->flows); f != NULL; f = following) {
		following = TAILQ_NEXT(f, next);
		if (may_stay(t, f, &v))
			continue;
		net_session_deny(t, NET_TCP, v.name, &f->place.address, f->place.port, v.rule);
		net_session_flow_ops.over(t, f, FLOW_DENIED);
	}
}
