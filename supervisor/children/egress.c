/*
 * service.c supervises box-egress.  Messages to it are notices but for EGRESS_LOOK, so a net session can open and close
 * while no process runs: box-egress gets all open ones when it is ready.
 */
#include "children/egress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/reopen.h"
#include "children/resolvers.h"
#include "children/service.h"
#include "core/dirs.h"
#include "core/idmap.h"
#include "core/machine.h"
#include "core/registry.h"
#include "core/spare.h"
#include "auth/auth.h"
#include "wire/owned_msg.h"

/* A session whose network is on. */
struct net_session {
	struct idmap_entry  entry;                   /* the id is the session's */
	int                 listener, dns, refusals; /* owned */
	char               *set;                     /* owned */
	struct netrules    *narrow;                  /* owned */
	struct msg_net_info info;                    /* borrows from the next */
	struct owned_msg    info_kept;
};

struct egress {
	struct boxd      *boxd;
	struct service   *service; /* owned */
	struct netrules  *rules;   /* owned */
	uint64_t          generation;
	struct resolvers *resolvers; /* owned */
	struct reopen    *reopen;    /* owned */
	struct idmap      sessions;  /* owned */
};

/* ---- net sessions ------------------------------------------------------------------------ */

static struct net_session *
net_session_find(const struct egress *g, uint64_t id)
{
	return (struct net_session *)idmap_find(&g->sessions, id);
}

static void
net_session_send(struct egress *g, const struct net_session *s)
{
	const struct msg_net_set *narrow = netrules_set(s->narrow, "");
	struct msg_egress_open    open = {
		   .id = s->entry.id,
		   .set = s->set,
		   .listener = s->listener,
		   .dns = s->dns,
		   .refusals = s->refusals,
		   .before = s->info,
	};

	open.narrow.n = narrow->rules.n;
	open.narrow.v = narrow->rules.v;
	service_tell(g->service, MSG_EGRESS_OPEN, &open);
}

static void
net_session_free(struct net_session *s)
{
	fd_close(&s->listener);
	fd_close(&s->dns);
	fd_close(&s->refusals);
	netrules_free(&s->narrow);
	owned_msg_clear(&s->info_kept);
	free(s->set);
	free(s);
}

int
egress_join(struct egress *g, const struct egress_session *who, struct err *e)
{
	AUTO_FD int         listener = who->listener, dns = who->dns, refusals = who->refusals;
	struct net_session *s;

	if (net_session_find(g, who->id) != NULL)
		return 0;
	if (listener == -1 || dns == -1)
		return err_set(e, E_CRASH, "the sandbox's worker sent no sockets for its network");
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_set(e, E_SYS, "no memory for a network");
	msg_defaults(MSG_NET_INFO, &s->info);
	s->info.mode = NET_MODE_EGRESS;
	s->entry.id = who->id;
	s->listener = fd_take(&listener);
	s->dns = fd_take(&dns);
	s->refusals = fd_take(&refusals);
	s->set = strdup(who->set);
	s->narrow = netrules_of(who->narrow, e);
	if (s->set == NULL)
		err_set(e, E_SYS, "no memory for a network");
	if (s->set == NULL || s->narrow == NULL) {
		net_session_free(s);
		return -1;
	}
	idmap_add(&g->sessions, &s->entry);
	net_session_send(g, s);
	egress_wake(g);
	return 0;
}

void
egress_leave(struct egress *g, uint64_t id)
{
	struct net_session *s = net_session_find(g, id);

	if (s == NULL)
		return;
	idmap_remove(&g->sessions, &s->entry);
	net_session_free(s);
	service_tell(g->service, MSG_EGRESS_CLOSE, &(struct msg_egress_close){ .id = id });
}

struct msg_net_info
egress_info(const struct egress *g, uint64_t id)
{
	const struct net_session *s = net_session_find(g, id);
	struct msg_net_info       none;

	if (s != NULL)
		return s->info;
	msg_defaults(MSG_NET_INFO, &none);
	none.mode = NET_MODE_EGRESS; /* it is about to have it, or had it */
	return none;
}

static void
keep_info(struct net_session *s, const struct msg_net_info *info)
{
	struct msg_net_info copy = *info;
	struct err          ignored; /* the numbers stay as they were */

	copy.flows.n = 0;
	if (owned_msg_copy(&s->info_kept, MSG_NET_INFO, &copy, &ignored) == 0)
		s->info = copy;
}

/* The numbers that a session gets are kept as the latest. */
static void
on_answer(void *arg, void *tag, const struct msg *reply)
{
	struct net_session *s = net_session_find(arg, (uintptr_t)tag);

	if (!reply->failed && s != NULL)
		keep_info(s, reply->body);
}

/* A box-egress that is starting learns what was refused meanwhile from the namespace. */
void
egress_look(struct egress *g, uint64_t id, bool flows, ask_fn *fn, void *arg)
{
	struct msg_egress_look look = { .id = id, .flows = flows };
	struct msg             failed = { .envelope = ENV_REPLY, .failed = true };

	if (net_session_find(g, id) != NULL) {
		service_ask_own(g->service, MSG_EGRESS_LOOK, &look, (void *)(uintptr_t)id, fn, arg);
		return;
	}
	err_set(&failed.error, E_NOTFOUND, "it has no network");
	fn(arg, &failed);
}

/* ---- what it says --------------------------------------------------------------------- */

static void
on_ready(void *arg, const struct msg *m)
{
	struct egress      *g = arg;
	struct idmap_entry *en;

	log_info("egress=%d ready", child_pid(service_child(g->service)));
	TAILQ_FOREACH (en, &g->sessions.all, next)
		net_session_send(g, (struct net_session *)en);
}

static void
on_counts(struct egress *g, const struct msg_egress_counts *c)
{
	struct net_session *s = net_session_find(g, c->id);

	if (s != NULL)
		keep_info(s, &c->info);
}

static void
on_denied(struct egress *g, const struct msg_egress_denied *m)
{
	const struct msg_net_denial *d = &m->denial;

	if (net_session_find(g, m->id) == NULL)
		return;
	char address[128];
	snprintf(address, sizeof(address), "%s", *d->address != '\0' ? d->address : "-");
	log_info("session=%lu network denied %s name=%s address=%s port=%lu rule=\"%s\" count=%lu", m->id,
	    msg_enum_name(MSG_NET_DENIAL, "kind", (int)d->kind),
	    *d->name != '\0' ? log_escape(d->name, strlen(d->name)) : "-", address, d->port, d->rule, d->count);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct egress *g = arg;

	if (m->type == MSG_EGRESS_COUNTS)
		on_counts(g, m->body);
	else if (m->type == MSG_EGRESS_DENIED)
		on_denied(g, m->body);
}

/* ---- its life --------------------------------------------------------------------------- */

static void
on_gone(void *arg, pid_t pid, const char *how, struct err *why)
{
	log_error("egress=%d gone %s; connections are cut", pid, how);
	err_set(why, E_CRASH, "box-egress died (%s)", how);
}

/* own: room for the ports of boxd, which is lent to the message. */
static void
fill_start(const struct egress *g, struct msg_egress_start *s, const char **own)
{
	const struct config *c = g->boxd->config;
	size_t               n;

	msg_defaults(MSG_EGRESS_START, s);
	s->uid = c->egress_uid;
	s->chroot = g->boxd->machine->root ? g->boxd->dirs->empty : "";
	s->connections = c->network_connections;
	s->dns_bytes = c->network_dns_kb * KIB;
	s->resolvers = *resolvers_list(g->resolvers);
	s->sets.v = (struct msg_net_set *)netrules_sets(g->rules, &n);
	s->sets.n = n;
	*own = auth_address(g->boxd->auth);
	s->own = (struct strs){ **own != '\0', own };
}

static int
on_start(void *arg, struct link *l, struct err *e)
{
	struct msg_egress_start s;
	const char             *own[1];

	fill_start(arg, &s, own);
	return link_send(l, MSG_EGRESS_START, 0, 0, &s, e);
}

static const struct service_plan plan = {
	.program = "box-egress",
	.from = FROM_EGRESS,
	.ready = MSG_EGRESS_READY,
	.start_sec = LIM_EGRESS_START_SEC,
	.wait_sec = LIM_EGRESS_LOOK_SEC,
	/* Sessions are cut off without it: tried for ever, and soon. */
	.restart = { .first_sec = 0.02, .most_sec = 5, .window_sec = 60, .limit = 0 },
	.start = on_start,
	.on_ready = on_ready,
	.on_msg = on_msg,
	.on_answer = on_answer,
	.on_gone = on_gone,
};

void
egress_wake(struct egress *g)
{
	struct err e;

	if (!g->boxd->stopping && service_start(g->service, &e) == -1)
		log_error("egress: %s", e.text);
}

static void
on_resolvers(void *arg)
{
	struct egress              *g = arg;
	struct msg_egress_resolvers m = { .resolvers = *resolvers_list(g->resolvers) };

	service_tell(g->service, MSG_EGRESS_RESOLVERS, &m);
}

struct egress *
egress_open(struct boxd *h, struct err *e)
{
	struct egress *g = calloc(1, sizeof(*g));

	if (g == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	g->boxd = h;
	idmap_init(&g->sessions);
	g->rules = netrules_read(h->config->network_rules, e);
	g->resolvers = g->rules == NULL ? NULL
					: resolvers_open(h->loop, h->config->network_resolvers, on_resolvers, g, e);
	if (g->resolvers == NULL || (g->reopen = reopen_open(h, e)) == NULL ||
	    (g->service = service_open(h, &plan, g, e)) == NULL)
		egress_close(&g);
	return g;
}

void
egress_close(struct egress **gp)
{
	struct egress      *g = *gp;
	struct idmap_entry *en;

	if (g == NULL)
		return;
	*gp = NULL;
	if (g->service != NULL)
		service_fail_all(g->service, &(struct err){ .code = E_SHUTDOWN, .text = "boxd is shutting down" });
	while ((en = idmap_first(&g->sessions)) != NULL) {
		idmap_remove(&g->sessions, en);
		net_session_free((struct net_session *)en);
	}
	service_close(&g->service);
	resolvers_close(&g->resolvers);
	reopen_close(&g->reopen);
	netrules_free(&g->rules);
	free(g);
}

/* ---- rules ---------------------------------------------------------------------------- */

const struct netrules *
egress_rules(const struct egress *g)
{
	return g->rules;
}

uint64_t
egress_generation(const struct egress *g)
{
	return g->generation;
}

int
egress_reload(struct egress *g, struct err *e)
{
	struct netrules        *fresh = netrules_read(g->boxd->config->network_rules, e);
	struct msg_egress_rules m = { 0 };

	if (fresh == NULL)
		return -1;
	netrules_free(&g->rules);
	g->rules = fresh;
	g->generation++;
	m.sets.v = (struct msg_net_set *)netrules_sets(fresh, &m.sets.n);
	service_tell(g->service, MSG_EGRESS_RULES, &m);
	spares_outdated(g->boxd->spares);
	reopen_all(g->reopen);
	log_info("network rules=%zu file=%s in force", netrules_count(fresh),
	    *netrules_file(fresh) != '\0' ? netrules_file(fresh) : "-");
	return 0;
}
