#include "children/gateway.h"

#include <assert.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/tally.h"
#include "children/service.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/registry.h"
#include "core/router.h"
#include "auth/auth.h"
#include "auth/identity.h"
#include "langbot/langbot.h"

/* Connection ids of different gateways never meet. */
enum { CONNS_PER_GATEWAY_BITS = 40 };

struct gateway {
	struct boxd       *boxd;
	struct service    *service;  /* owned */
	int                listener; /* owned; outlives every gateway */
	struct identities *clients;  /* owned */
	struct tally       refusals;
	uint64_t           starts;
};

static void
conn_refuse(struct gateway *g, uint64_t conn, const struct err *why)
{
	struct msg_closing closing = { .code = err_wire_name(why->code), .reason = why->text };

	if (tally_line(&g->refusals, err_wire_name(why->code)))
		log_warn("conn=%lu refused: %s", conn, why->text);
	gateway_notice(g, MSG_CLOSING, conn, &closing);
}

static void
on_conn_open(struct gateway *g, const struct msg *m)
{
	const struct msg_conn_open *open = m->body;
	struct err                  e = { 0 };

	/* a compromised gateway could go on for ever */
	if (identities_count(g->clients) >= 2 * g->boxd->config->max_connections)
		err_set(&e, E_BUSY, "too many connections");
	else if (identity_admit(g->clients, m->conn, open->peer, open->speaks, &e) == 0)
		return;
	conn_refuse(g, m->conn, &e);
}

/* 0: all of them.  Nothing waits for an answer to it any more. */
static void
forget_conn(struct gateway *g, uint64_t conn)
{
	if (conn == 0)
		identity_forget_all(g->clients);
	else
		identity_forget(g->clients, conn);
	auth_conn_gone(g->boxd->auth, conn);
	registry_conn_gone(g->boxd->registry, conn);
	langbot_conn_gone(g->boxd->langbot, conn);
	agent_conn_gone(g->boxd->agent, conn);
}

static void
on_call(struct gateway *g, struct msg *m)
{
	struct identity *id = identity_find(g->clients, m->conn);
	struct err       e = { 0 };

	if (id == NULL)
		err_set(&e, E_DENIED, "connection %lu is not admitted", m->conn);
	else if (route_from(g->boxd, id, m, &e) == 0)
		return;
	if (m->envelope == ENV_REQUEST)
		gateway_fail(g, m->conn, m->id, &e);
	else
		log_debug("conn=%lu %s: %s", m->conn, msg_name(m->type), e.text);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct gateway *g = arg;

	if (m->envelope == ENV_REPLY || m->conn == 0) {
		if (m->type == MSG_GATEWAY_READY)
			log_info("gateway=%d ready", child_pid(service_child(g->service)));
		return;
	}
	/* a compromised gateway may send anything, also a request in the name of boxd */
	if (m->conn >> CONNS_PER_GATEWAY_BITS != g->starts)
		log_error("gateway=%d speaks for connection %lu, which is not one of its own",
		    child_pid(service_child(g->service)), m->conn);
	else if (m->type == MSG_CONN_OPEN)
		on_conn_open(g, m);
	else if (m->type == MSG_CONN_GONE)
		forget_conn(g, m->conn);
	else
		on_call(g, m);
}

static void
on_gone(void *arg, pid_t pid, const char *how, struct err *why)
{
	struct gateway *g = arg;

	log_error("gateway=%d gone %s clients=%zu", pid, how, identities_count(g->clients));
	forget_conn(g, 0);
}

static int
on_start(void *arg, struct link *l, struct err *e)
{
	struct gateway          *g = arg;
	struct msg_gateway_start s;

	msg_defaults(MSG_GATEWAY_START, &s);
	s.listener = g->listener;
	auth_for_gateway(g->boxd->auth, &s);
	s.max_connections = g->boxd->config->max_connections;
	s.uid = g->boxd->config->gateway_uid;
	s.chroot = g->boxd->machine->root ? g->boxd->dirs->empty : "";
	s.max_rpc_file_bytes = langbot_limits(g->boxd->langbot)->max_rpc_file_bytes;
	s.next_conn = (++g->starts << CONNS_PER_GATEWAY_BITS) + 1;
	return link_send(l, MSG_GATEWAY_START, 0, 0, &s, e);
}

static const struct service_plan plan = {
	.program = "box-gateway",
	.from = FROM_GATEWAY | FROM_CLIENT, /* what a gateway forwards is a client's or its own */
	/* Without a gateway nobody can reach us: it is tried for ever. */
	.restart = { .first_sec = 0.1, .most_sec = 5, .window_sec = 60, .limit = 0 },
	.finishes = true,
	.start = on_start,
	.on_msg = on_msg,
	.on_gone = on_gone,
};

struct gateway *
gateway_open(struct boxd *h, int listener, struct err *e)
{
	struct gateway *g = calloc(1, sizeof(*g));

	assert(listener >= 0);
	if (g == NULL || (g->clients = identities_open(h->config->socket_group, listener, e)) == NULL) {
		free(g);
		return NULL;
	}
	g->boxd = h;
	g->listener = listener;
	tally_init(&g->refusals, h->loop, "clients were turned away by boxd");
	g->service = service_open(h, &plan, g, e);
	if (g->service == NULL || service_start(g->service, e) == -1) {
		gateway_close(&g);
		return NULL;
	}
	return g;
}

void
gateway_close(struct gateway **gp)
{
	struct gateway *g = *gp;

	if (g == NULL)
		return;
	if (g->boxd->auth != NULL)
		auth_conn_gone(g->boxd->auth, 0); /* before the requests that it waits for fail */
	*gp = NULL;
	tally_clear(&g->refusals);
	service_close(&g->service);
	identities_close(&g->clients);
	fd_close(&g->listener);
	free(g);
}

/* A gateway that does not read is stuck; its clients are better off with the next one. */
static void
check_sent(struct gateway *g, int r, const struct err *e)
{
	if (r == -1 && e->code == E_BUSY) {
		log_error("gateway=%d does not read: %s", child_pid(service_child(g->service)), e->text);
		child_kill(service_child(g->service));
	} else if (r == -1 && e->code != E_CRASH) {
		log_error("gateway=%d reply lost: %s", child_pid(service_child(g->service)), e->text);
	}
}

/* A reply that cannot be encoded is a bug in boxd; the client gets the error. */
static void
reply_failed(struct gateway *g, struct child *c, enum msg_type t, uint64_t conn, uint64_t id, const struct err *why)
{
	struct err ignored; /* the gateway is gone, and its clients with it */

	if (why->code == E_BUSY)
		check_sent(g, -1, why);
	else if (link_fail(child_link(c), id, conn, why, &ignored) == 0)
		log_error("conn=%lu request=%lu reply %s: %s", conn, id, msg_name(t), why->text);
}

void
gateway_reply(struct gateway *g, enum msg_type t, uint64_t conn, uint64_t id, const void *body)
{
	struct child *c = service_child(g->service);
	struct err    e = { 0 };

	if (c != NULL && conn != 0 && link_reply(child_link(c), t, id, conn, body, &e) == -1)
		reply_failed(g, c, t, conn, id, &e);
}

void
gateway_fail(struct gateway *g, uint64_t conn, uint64_t id, const struct err *why)
{
	struct child *c = service_child(g->service);
	struct err    e = { 0 };

	if (c != NULL && conn != 0)
		check_sent(g, link_fail(child_link(c), id, conn, why, &e), &e);
}

void
gateway_notice(struct gateway *g, enum msg_type t, uint64_t conn, const void *body)
{
	struct child *c = service_child(g->service);
	struct err    e = { 0 };

	if (c != NULL)
		check_sent(g, link_send(child_link(c), t, 0, conn, body, &e), &e);
}

void
gateway_tell(struct gateway *g, enum msg_type t, const void *body)
{
	gateway_notice(g, t, 0, body);
}

void
gateway_go_away(struct gateway *g)
{
	struct msg_http_go_away none;

	gateway_tell(g, MSG_HTTP_GO_AWAY, &none);
}

void
gateway_send(struct gateway *g, struct packet *p)
{
	struct child *c = service_child(g->service);
	struct err    e = { 0 };

	if (c != NULL)
		check_sent(g, link_send_packet(child_link(c), p, &e), &e);
	else
		packet_clear(p);
}

struct identity *
gateway_client(const struct gateway *g, uint64_t conn)
{
	return identity_find(g->clients, conn);
}

void
gateway_client_is_rpc(struct gateway *g, uint64_t conn)
{
	struct identity *id = identity_find(g->clients, conn);

	if (id != NULL)
		identity_becomes_rpc(g->clients, id);
}

size_t
gateway_rpc(const struct gateway *g)
{
	return identities_rpc(g->clients);
}

size_t
gateway_connections(const struct gateway *g)
{
	return identities_count(g->clients);
}

uint64_t
gateway_restarts(const struct gateway *g)
{
	return g->starts > 0 ? g->starts - 1 : 0;
}
