/*
 * box-egress: the only way out of sandboxes that have a network.
 *
 *	fd 3	SEQPACKET channel to the supervisor; the only descriptor it is born with
 *
 * The supervisor's first message is EGRESS_START with the whole configuration.  box-egress opens what needs files or
 * netlink, confines itself, and says EGRESS_READY.  From then on sessions come and go by message, each with the sockets
 * of its namespace.  This process is in the host's network namespace and has no right there but to connect.
 *
 * When the link ends it exits, and everything it has open is reset: a sandbox never takes its end for that of a server.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/stdfds.h"
#include "confine.h"
#include "flow/pump.h"
#include "host/helper.h"
#include "net_sessions.h"

/* Descriptors for questions about names: a part of all, and enough to hide from whoever forges answers. */
enum { ASKING_PART = 16, ASKING_MOST = 256 };

struct boxd {
	struct egress        egress;
	struct net_sessions *tenants; /* owned; NULL until started */
	struct helper        helper;
};

/* ---- starting ------------------------------------------------------------------------ */

static int
prepare(struct egress *g, const struct msg_egress_start *s, struct err *e)
{
	g->descriptors = stdfds_raise_limit(); /* two for each connection, of all sessions */
	g->asking = g->descriptors / ASKING_PART < ASKING_MOST ? g->descriptors / ASKING_PART : ASKING_MOST;
	g->connections = s->connections;
	g->dns_bytes = s->dns_bytes;
	g->spare = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	tracked_open(&g->tracked, TRACKED_DIR);
	if (boxd_ports_parse(&g->boxd_ports, &s->own, e) == -1 ||
	    (g->sets = rule_sets_new(s->sets.v, s->sets.n, e)) == NULL || (g->routes = routes_open(e)) == NULL ||
	    (g->hello = hello_open(e)) == NULL || (g->fairq = fairq_open(g->loop, e)) == NULL ||
	    (g->resolver = resolver_open(g->loop, &s->resolvers, g->asking, e)) == NULL)
		return -1;
	g->buffer = malloc(PUMP_BUFFER);
	return g->buffer == NULL ? err_set(e, E_SYS, "no memory for a buffer") : 0;
}

static int
egress_begin(void *arg, struct msg *m, struct err *e)
{
	struct boxd                   *h = arg;
	const struct msg_egress_start *s = m->body;
	struct confinement             walls = { .root = s->chroot, .uid = s->uid };
	struct msg_egress_ready        ready;

	h->egress.loop = h->helper.loop;
	h->egress.link = h->helper.link;
	if (prepare(&h->egress, s, e) == -1)
		return -1;
	if (confine(&walls, e) == -1)
		return err_prefix(e, "confine");
	if ((h->tenants = net_sessions_open(e)) == NULL)
		return -1;
	return link_send(h->egress.link, MSG_EGRESS_READY, 0, 0, &ready, e);
}

/* ---- messages ------------------------------------------------------------------------- */

static void
on_open(struct boxd *h, struct msg *m)
{
	uint64_t            id = ((const struct msg_egress_open *)m->body)->id;
	struct err          e;
	struct net_session *t;

	net_sessions_drop(h->tenants, id);
	t = net_session_open(&h->egress, m, &e);
	if (t == NULL || net_sessions_add(h->tenants, t, &e) == -1)
		log_error("session=%lu has no network: %s", id, e.text);
}

static void
on_close(struct boxd *h, struct msg *m)
{
	net_sessions_drop(h->tenants, ((const struct msg_egress_close *)m->body)->id);
}

static void
on_rules(struct boxd *h, struct msg *m)
{
	const struct msg_egress_rules *r = m->body;
	struct err                     e;
	struct rule_sets              *old = h->egress.sets, *fresh = rule_sets_new(r->sets.v, r->sets.n, &e);

	if (fresh == NULL) {
		log_error("rules: %s; the old ones stay", e.text);
		return;
	}
	h->egress.sets = fresh;
	net_sessions_each(h->tenants, net_session_rejudge);
	rule_sets_free(&old);
}

static void
on_resolvers(struct boxd *h, struct msg *m)
{
	const struct msg_egress_resolvers *r = m->body;
	struct err                         e;

	if (resolver_servers(h->egress.resolver, &r->resolvers, &e) == -1)
		log_error("resolvers: %s", e.text);
}

static void
on_look(struct boxd *h, struct msg *m)
{
	const struct msg_egress_look *l = m->body;
	struct net_session           *t = net_sessions_find(h->tenants, l->id);
	struct err                    why, e;

	if (t != NULL) {
		net_session_answer(t, m->id, l->flows);
		return;
	}
	err_set(&why, E_NOTFOUND, "session %lu has no network", l->id);
	if (link_fail(h->egress.link, m->id, 0, &why, &e) == -1)
		log_error("look: %s", e.text);
}

static void (*const on[MSG__COUNT])(struct boxd *, struct msg *) = {
	[MSG_EGRESS_OPEN] = on_open,
	[MSG_EGRESS_CLOSE] = on_close,
	[MSG_EGRESS_RULES] = on_rules,
	[MSG_EGRESS_RESOLVERS] = on_resolvers,
	[MSG_EGRESS_LOOK] = on_look,
};

static void
take(void *arg, struct msg *m)
{
	if (on[m->type] != NULL)
		on[m->type](arg, m);
	else
		log_error("box-egress takes no %s", msg_name(m->type));
}

/* ---- the house ------------------------------------------------------------------------- */

static void
take_down(struct boxd *h)
{
	struct egress *g = &h->egress;

	net_sessions_close(&h->tenants);
	resolver_close(&g->resolver);
	fairq_close(&g->fairq);
	hello_close(&g->hello);
	routes_close(&g->routes);
	rule_sets_free(&g->sets);
	free(g->buffer);
	fd_close(&g->spare);
	tracked_close(&g->tracked);
	helper_close(&h->helper);
}

int
main(int argc, char **argv)
{
	struct boxd h = { .egress.spare = -1, .egress.tracked = TRACKED_CLOSED };

	startup("box-egress", argc, argv);
	h.helper = (struct helper){ .start = MSG_EGRESS_START, .begin = egress_begin, .take = take, .arg = &h };
	helper_run(&h.helper);
	take_down(&h);
	return h.helper.status;
}
