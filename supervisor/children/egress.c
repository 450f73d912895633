/*
 *	none -> STARTING -> SERVING	it said EGRESS_READY: it gets every guest
 *	  ^---------'----------'	it died: questions fail, it is started again while there are guests
 *
 * Messages to it are notices but for EGRESS_LOOK, so a guest can join and leave while there is no process: the next
 * one is told of those that are there.
 */
#include "children/egress.h"

#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/restart.h"
#include "children/child.h"
#include "children/gateway.h"
#include "children/reopen.h"
#include "children/resolvers.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/registry.h"
#include "core/spare.h"
#include "door/door.h"
#include "wire/owned_msg.h"

/* Sessions are cut off without it: tried for ever, and soon. */
static const struct restart_policy policy = { .first_sec = 0.02, .most_sec = 5, .window_sec = 60, .limit = 0 };

struct guest {
	LIST_ENTRY(guest) next;
	uint64_t            id;
	int                 listener, dns, refusals; /* owned */
	char               *set;                     /* owned */
	struct netrules    *narrow;                  /* owned */
	struct msg_net_info info;                    /* borrows from the next */
	struct owned_msg    info_kept;
};

struct question {
	LIST_ENTRY(question) next;
	struct egress *egress;
	uint64_t       id;
	uint64_t       guest; /* it is about */
	bool           flows, sent;
	ask_fn        *fn;
	void          *arg;
	ev_timer       late;
};

struct egress {
	struct boxd      *boxd;
	struct child     *child; /* owned; NULL: there is none */
	bool              serving;
	struct restart    restart;
	ev_timer          again; /* runs between death and restart */
	ev_timer          late;  /* runs until it says that it stands */
	struct netrules  *rules; /* owned */
	uint64_t          generation;
	struct resolvers *resolvers;     /* owned */
	struct reopen    *reopen;        /* owned */
	LIST_HEAD(, guest) guests;       /* owned */
	LIST_HEAD(, question) questions; /* owned */
};

static void start(struct egress *);

/* ---- guests ------------------------------------------------------------------------ */

static struct guest *
find(const struct egress *g, uint64_t id)
{
	struct guest *t;

	LIST_FOREACH (t, &g->guests, next)
		if (t->id == id)
			return t;
	return NULL;
}

static void
tell(struct egress *g, enum msg_type type, const void *body)
{
	struct err e;

	if (g->serving && link_send(child_link(g->child), type, 0, 0, body, &e) == -1) {
		log_error("egress=%d %s: %s", child_pid(g->child), msg_name(type), e.text);
		child_kill(g->child); /* it would not know what it must */
	}
}

static void
send_guest(struct egress *g, const struct guest *t)
{
	const struct msg_net_set *narrow = netrules_set(t->narrow, "");
	struct msg_egress_open    open = {
		   .id = t->id,
		   .set = t->set,
		   .listener = t->listener,
		   .dns = t->dns,
		   .refusals = t->refusals,
		   .before = t->info,
	};

	open.narrow.n = narrow->rules.n;
	open.narrow.v = narrow->rules.v;
	tell(g, MSG_EGRESS_OPEN, &open);
}

static void
guest_free(struct guest *t)
{
	fd_close(&t->listener);
	fd_close(&t->dns);
	fd_close(&t->refusals);
	netrules_free(&t->narrow);
	owned_msg_clear(&t->info_kept);
	free(t->set);
	free(t);
}

int
egress_join(struct egress *g, const struct egress_guest *who, struct err *e)
{
	AUTO_FD int   listener = who->listener, dns = who->dns, refusals = who->refusals;
	struct guest *t;

	if (find(g, who->id) != NULL)
		return 0;
	if (listener == -1 || dns == -1)
		return err_set(e, E_CRASH, "the sandbox has not told the sockets of its network");
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return err_set(e, E_SYS, "no memory for a network");
	msg_defaults(MSG_NET_INFO, &t->info);
	t->info.mode = NET_MODE_EGRESS;
	t->id = who->id;
	t->listener = fd_take(&listener);
	t->dns = fd_take(&dns);
	t->refusals = fd_take(&refusals);
	t->set = strdup(who->set);
	t->narrow = netrules_of(who->narrow, e);
	if (t->set == NULL)
		err_set(e, E_SYS, "no memory for a network");
	if (t->set == NULL || t->narrow == NULL) {
		guest_free(t);
		return -1;
	}
	LIST_INSERT_HEAD(&g->guests, t, next);
	send_guest(g, t);
	start(g);
	return 0;
}

void
egress_leave(struct egress *g, uint64_t id)
{
	struct guest *t = find(g, id);

	if (t == NULL)
		return;
	LIST_REMOVE(t, next);
	guest_free(t);
	tell(g, MSG_EGRESS_CLOSE, &(struct msg_egress_close){ .id = id });
}

struct msg_net_info
egress_info(const struct egress *g, uint64_t id)
{
	const struct guest *t = find(g, id);
	struct msg_net_info none;

	if (t != NULL)
		return t->info;
	msg_defaults(MSG_NET_INFO, &none);
	none.mode = NET_MODE_EGRESS; /* it is about to have it, or had it */
	return none;
}

static void
keep_info(struct guest *t, const struct msg_net_info *info)
{
	struct msg_net_info copy = *info;
	struct err          e;

	copy.flows.n = 0;
	if (owned_msg_copy(&t->info_kept, MSG_NET_INFO, &copy, &e) == 0)
		t->info = copy;
}

/* ---- questions ----------------------------------------------------------------------- */

static void
answer(struct question *q, const struct msg *m)
{
	ask_fn *fn = q->fn;
	void   *arg = q->arg;

	LIST_REMOVE(q, next);
	ev_timer_stop(q->egress->boxd->loop, &q->late);
	free(q);
	fn(arg, m);
}

static void
fail(struct question *q, const struct err *why)
{
	answer(q, &(struct msg){ .envelope = ENV_REPLY, .failed = true, .error = *why });
}

static void
fail_all(struct egress *g, const struct err *why)
{
	while (!LIST_EMPTY(&g->questions))
		fail(LIST_FIRST(&g->questions), why);
}

static void
on_look_late(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct err why;

	(void)loop;
	(void)revents;
	err_set(&why, E_BUSY, "box-egress does not answer");
	fail(t->data, &why);
}

/* A failure to send fails the question. */
static void
question_send(struct question *q)
{
	struct msg_egress_look look = { .id = q->guest, .flows = q->flows };
	struct err             e;

	q->sent = true;
	if (link_send(child_link(q->egress->child), MSG_EGRESS_LOOK, q->id, 0, &look, &e) == -1)
		fail(q, &e);
}

/* One that is being started will know what was refused meanwhile: the namespace keeps that. */
void
egress_look(struct egress *g, uint64_t id, bool flows, ask_fn *fn, void *arg)
{
	struct question *q = calloc(1, sizeof(*q));
	struct msg       failed = { .envelope = ENV_REPLY, .failed = true };

	if (q == NULL || find(g, id) == NULL) {
		err_set(&failed.error, q == NULL ? E_SYS : E_NOTFOUND, q == NULL ? "no memory" : "it has no network");
		free(q);
		fn(arg, &failed);
		return;
	}
	*q = (struct question){
		.egress = g, .id = boxd_next_id(g->boxd), .guest = id, .flows = flows, .fn = fn, .arg = arg
	};
	ev_timer_init(&q->late, on_look_late, LIM_EGRESS_LOOK_SEC, 0.);
	q->late.data = q;
	ev_timer_start(g->boxd->loop, &q->late);
	LIST_INSERT_HEAD(&g->questions, q, next);
	if (g->serving)
		question_send(q);
}

/* ---- what it says --------------------------------------------------------------------- */

static void
on_ready(struct egress *g)
{
	struct guest    *t;
	struct question *q, *following;

	ev_timer_stop(g->boxd->loop, &g->late);
	g->serving = true;
	log_info("egress=%d ready", child_pid(g->child));
	LIST_FOREACH (t, &g->guests, next)
		send_guest(g, t);
	for (q = LIST_FIRST(&g->questions); q != NULL; q = following) {
		following = LIST_NEXT(q, next);
		if (!q->sent)
			question_send(q);
	}
}

static void
on_reply(struct egress *g, struct msg *m)
{
	struct question *q;
	struct err       e;

	LIST_FOREACH (q, &g->questions, next)
		if (q->id == m->id)
			break;
	if (q == NULL)
		return;
	if (!m->failed && msg_expect(m, MSG_NET_INFO, &e) == -1) {
		fail(q, &e);
		return;
	}
	if (!m->failed && find(g, q->guest) != NULL)
		keep_info(find(g, q->guest), m->body);
	answer(q, m);
}

static void
on_counts(struct egress *g, const struct msg_egress_counts *c)
{
	struct guest *t = find(g, c->id);

	if (t != NULL)
		keep_info(t, &c->info);
}

static void
on_denied(struct egress *g, const struct msg_egress_denied *m)
{
	const struct msg_net_denial *d = &m->denial;

	if (find(g, m->id) == NULL)
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

	if (m->envelope == ENV_REPLY)
		on_reply(g, m);
	else if (m->type == MSG_EGRESS_READY && !g->serving)
		on_ready(g);
	else if (m->type == MSG_EGRESS_COUNTS)
		on_counts(g, m->body);
	else if (m->type == MSG_EGRESS_DENIED)
		on_denied(g, m->body);
}

/* ---- its life --------------------------------------------------------------------------- */

static void
start_later(struct egress *g)
{
	double delay = restart_after_crash(&g->restart, &policy, ev_now(g->boxd->loop));

	if (g->boxd->stopping || ev_is_active(&g->again))
		return;
	ev_timer_set(&g->again, delay, 0.);
	ev_timer_start(g->boxd->loop, &g->again);
}

static void
on_gone(void *arg, int status)
{
	struct egress *g = arg;
	struct err     why;

	log_error("egress=%d gone %s; connections are cut", child_pid(g->child), child_status(status));
	child_close(&g->child);
	ev_timer_stop(g->boxd->loop, &g->late);
	g->serving = false;
	err_set(&why, E_CRASH, "box-egress died (%s)", child_status(status));
	fail_all(g, &why);
	start_later(g);
}

static const struct child_ops ops = { on_msg, on_gone };

static void
on_late(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct egress *g = t->data;

	(void)loop;
	(void)revents;
	log_error("egress=%d does not start", child_pid(g->child));
	child_kill(g->child);
}

/* own: room for the doors of boxd, which is lent to the message. */
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
	*own = door_address(g->boxd->door);
	s->own = (struct strs){ **own != '\0', own };
}

static void
start(struct egress *g)
{
	struct msg_egress_start s;
	const char             *own[1];
	struct err              e;

	if (g->child != NULL || ev_is_active(&g->again) || g->boxd->stopping)
		return;
	fill_start(g, &s, own);
	g->child = child_start(g->boxd, "box-egress", FROM_EGRESS, &ops, g, &e);
	if (g->child != NULL && link_send(child_link(g->child), MSG_EGRESS_START, 0, 0, &s, &e) == 0) {
		ev_timer_set(&g->late, LIM_EGRESS_START_SEC, 0.);
		ev_timer_start(g->boxd->loop, &g->late);
		return;
	}
	log_error("egress: %s", e.text);
	child_end(&g->child);
	start_later(g);
}

static void
on_again(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	start(t->data);
}

void
egress_wake(struct egress *g)
{
	start(g);
}

static void
on_resolvers(void *arg)
{
	struct egress              *g = arg;
	struct msg_egress_resolvers m = { .resolvers = *resolvers_list(g->resolvers) };

	tell(g, MSG_EGRESS_RESOLVERS, &m);
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
	LIST_INIT(&g->guests);
	LIST_INIT(&g->questions);
	ev_timer_init(&g->again, on_again, 0., 0.);
	ev_timer_init(&g->late, on_late, 0., 0.);
	g->again.data = g->late.data = g;
	g->rules = netrules_read(h->config->network_rules, e);
	g->resolvers = g->rules == NULL ? NULL
					: resolvers_open(h->loop, h->config->network_resolvers, on_resolvers, g, e);
	if (g->resolvers == NULL || (g->reopen = reopen_open(h, e)) == NULL)
		egress_close(&g);
	return g;
}

void
egress_close(struct egress **gp)
{
	struct egress *g = *gp;
	struct guest  *t;

	if (g == NULL)
		return;
	*gp = NULL;
	ev_timer_stop(g->boxd->loop, &g->again);
	ev_timer_stop(g->boxd->loop, &g->late);
	g->serving = false;
	fail_all(g, &(struct err){ .code = E_SHUTDOWN, .text = "boxd is shutting down" });
	while ((t = LIST_FIRST(&g->guests)) != NULL) {
		LIST_REMOVE(t, next);
		guest_free(t);
	}
	child_end(&g->child);
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
	tell(g, MSG_EGRESS_RULES, &m);
	spares_outdated(g->boxd->spares);
	reopen_all(g->reopen);
	log_info("network rules=%zu file=%s in force", netrules_count(fresh),
	    *netrules_file(fresh) != '\0' ? netrules_file(fresh) : "-");
	return 0;
}
