#include "children/service.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "children/child.h"
#include "core/idmap.h"
#include "core/reply.h"

enum role { STARTING, SERVING, LEAVING };

struct process {
	LIST_ENTRY(process) next;
	struct service *service;
	struct child   *child; /* owned */
	enum role       role;
	bool            candidate;   /* STARTING: in the place of the one that serves */
	uint64_t        due;         /* requests that it has in hand */
	ev_timer        reply_timer; /* runs while something is due */
};

struct request {
	struct idmap_entry entry; /* the id is ours, for the process */
	struct service    *service;
	struct asker       who;
	enum msg_type      type;
	struct process    *at;         /* NULL: it waits for one that serves */
	struct packet      packet;     /* owned; until it is sent */
	ev_timer           wait_timer; /* runs until wait_sec is over */
};

struct service {
	struct boxd               *boxd;
	const struct service_plan *plan;
	void                      *owner;
	LIST_HEAD(, process) processes; /* owned; at most one of them starts, and one serves */
	struct idmap   requests;        /* owned */
	struct restart restart;
	ev_timer       restart_timer; /* runs between a death and the next start */
};

static const char *
name_of(const struct service *s)
{
	return s->plan->program + strlen("box-");
}

static struct process *
process_in(const struct service *s, enum role role)
{
	struct process *p;

	LIST_FOREACH (p, &s->processes, next)
		if (p->role == role)
			return p;
	return NULL;
}

/* ---- requests ---------------------------------------------------------------------------- */

static void
request_free(struct request *r)
{
	idmap_remove(&r->service->requests, &r->entry);
	ev_timer_stop(r->service->boxd->loop, &r->wait_timer);
	if (r->at != NULL)
		counter_sub(&r->at->due, 1);
	packet_clear(&r->packet);
	free(r);
}

static void
request_answer(struct request *r, const struct msg *m)
{
	struct service *s = r->service;
	struct asker    who = r->who;

	request_free(r);
	if (s->plan->on_answer != NULL)
		s->plan->on_answer(s->owner, who.tag, m);
	if (m->failed)
		reply_fail(s->boxd, who.conn, who.id, &m->error);
	else
		reply_send(s->boxd, m->type, who.conn, who.id, m->body);
}

static void
request_answer_failure(struct request *r, const struct err *why)
{
	request_answer(r, &(struct msg){ .envelope = ENV_REPLY, .failed = true, .error = *why });
}

/* Requests that this process has, or (NULL) that wait; but not those that are added meanwhile. */
static void
requests_fail_at(struct service *s, const struct process *p, const struct err *why)
{
	uint64_t            newest = s->boxd->next_id;
	struct idmap_entry *c, *next;

	for (c = idmap_first(&s->requests); c != NULL && c->id < newest; c = next) {
		next = TAILQ_NEXT(c, next);
		if (((struct request *)c)->at == p)
			request_answer_failure((struct request *)c, why);
	}
}

void
service_fail_all(struct service *s, const struct err *why)
{
	struct process *p;

	requests_fail_at(s, NULL, why);
	LIST_FOREACH (p, &s->processes, next)
		requests_fail_at(s, p, why);
}

/* The time to answer starts now, if a request is due. */
static void
process_watch(struct process *p)
{
	const struct service_plan *plan = p->service->plan;
	double                     sec = p->role == STARTING ? plan->start_sec : p->due > 0 ? plan->answer_sec : 0;

	ev_timer_stop(p->service->boxd->loop, &p->reply_timer);
	if (sec == 0)
		return;
	ev_timer_set(&p->reply_timer, sec, 0.);
	ev_timer_start(p->service->boxd->loop, &p->reply_timer);
}

static int
request_send(struct request *r, struct process *p, struct err *e)
{
	assert(r->at == NULL && p->role == SERVING);
	r->at = p;
	p->due++;
	if (!ev_is_active(&p->reply_timer))
		process_watch(p);
	return link_send_packet(child_link(p->child), &r->packet, e);
}

static void
send_waiting(struct process *p)
{
	struct service     *s = p->service;
	struct idmap_entry *c, *next;

	for (c = idmap_first(&s->requests); c != NULL; c = next) {
		struct request *r = (struct request *)c;
		struct err      e = { 0 };

		next = TAILQ_NEXT(c, next);
		if (r->at == NULL && request_send(r, p, &e) == -1)
			request_answer_failure(r, &e);
	}
}

static void
on_wait_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct request *r = t->data;
	struct err      why;

	err_set(&why, E_BUSY, "%s does not answer", r->service->plan->program);
	request_answer_failure(r, &why);
}

/* ---- one process ------------------------------------------------------------------------- */

/* It has no request left. */
static void
process_end(struct process *p)
{
	assert(p->due == 0);
	ev_timer_stop(p->service->boxd->loop, &p->reply_timer);
	if (!p->service->plan->finishes)
		child_kill(p->child);
	child_close(&p->child);
	LIST_REMOVE(p, next);
	free(p);
}

static void
service_restart_later(struct service *s)
{
	double delay;

	if (s->plan->restart.first_sec == 0 || s->boxd->stopping || ev_is_active(&s->restart_timer))
		return;
	delay = restart_after_crash(&s->restart, &s->plan->restart, ev_now(s->boxd->loop));
	ev_timer_set(&s->restart_timer, delay, 0.);
	ev_timer_start(s->boxd->loop, &s->restart_timer);
}

/* One that started is gone, or goes. */
static void
start_failed(struct service *s, bool candidate, const struct err *why)
{
	if (!candidate) {
		requests_fail_at(s, NULL, why);
		return;
	}
	assert(s->plan->on_refused != NULL);
	s->plan->on_refused(s->owner, why);
	/* the one that served may have died meanwhile */
	if (process_in(s, SERVING) == NULL && idmap_first(&s->requests) != NULL)
		service_restart_later(s);
}

static void
become_serving(struct process *p, const struct msg *m)
{
	struct service *s = p->service;
	struct process *old = process_in(s, SERVING);

	assert(p->role == STARTING && p->due == 0);
	p->role = SERVING;
	p->candidate = false;
	if (old != NULL && old->due == 0)
		process_end(old);
	else if (old != NULL)
		old->role = LEAVING;
	process_watch(p);
	if (s->plan->on_ready != NULL)
		s->plan->on_ready(s->owner, m);
	send_waiting(p);
}

static void
on_starting(struct process *p, const struct msg *m)
{
	struct service *s = p->service;
	bool            candidate = p->candidate;
	struct err      why;

	if (s->plan->judge != NULL && s->plan->judge(s->owner, m, &why) == -1) {
		process_end(p);
		start_failed(s, candidate, &why);
	} else if (m->type == s->plan->ready) {
		become_serving(p, m);
	}
}

static void
on_reply(struct process *p, struct msg *m)
{
	struct service *s = p->service;
	struct request *r = (struct request *)idmap_find(&s->requests, m->id);
	struct err      e = { 0 };

	if (r == NULL || r->at != p)
		return;
	if (!m->failed && msg_expect(m, msg_def(r->type)->result, &e) == -1) {
		log_error("%s=%d %s: %s", name_of(s), child_pid(p->child), msg_name(r->type), e.text);
		m->failed = true;
		m->error = e;
	}
	request_answer(r, m);
	process_watch(p);
	if (p->role == LEAVING && p->due == 0)
		process_end(p);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct process *p = arg;
	struct service *s = p->service;

	if (m->envelope == ENV_REPLY)
		on_reply(p, m);
	else if (p->role == STARTING)
		on_starting(p, m);
	else if (s->plan->on_msg != NULL)
		s->plan->on_msg(s->owner, m);
}

/* It is freed last: its address marks its requests, while new ones may be added. */
static void
on_gone(void *arg, int status)
{
	struct process *p = arg;
	struct service *s = p->service;
	pid_t           pid = child_pid(p->child);
	struct err      why = { 0 };

	ev_timer_stop(s->boxd->loop, &p->reply_timer);
	child_close(&p->child);
	LIST_REMOVE(p, next);
	if (p->role != LEAVING && !p->candidate)
		service_restart_later(s);
	s->plan->on_gone(s->owner, pid, child_status(status).text, &why);
	if (p->role == STARTING)
		start_failed(s, p->candidate, &why);
	else
		requests_fail_at(s, p, &why);
	assert(p->due == 0);
	free(p);
}

static void
on_reply_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct process *p = t->data;

	log_error(
	    "%s=%d does not %s", name_of(p->service), child_pid(p->child), p->role == STARTING ? "start" : "answer");
	child_kill(p->child);
}

static int
process_start(struct service *s, bool candidate, struct err *e)
{
	static const struct child_ops ops = { on_msg, on_gone };
	const struct service_plan    *plan = s->plan;
	struct process               *p = calloc(1, sizeof(*p));

	assert(candidate || (process_in(s, STARTING) == NULL && process_in(s, SERVING) == NULL));
	if (p == NULL)
		return err_set(e, E_SYS, "no memory");
	*p = (struct process){ .service = s, .candidate = candidate };
	ev_timer_init(&p->reply_timer, on_reply_timer, 0., 0.);
	p->reply_timer.data = p;
	p->child = child_start(s->boxd, plan->program, plan->from, &ops, p, e);
	if (p->child == NULL || (plan->start != NULL && plan->start(s->owner, child_link(p->child), e) == -1)) {
		child_end(&p->child);
		free(p);
		return -1;
	}
	LIST_INSERT_HEAD(&s->processes, p, next);
	if (plan->ready == MSG_NONE)
		p->role = SERVING;
	process_watch(p);
	return 0;
}

int
service_start(struct service *s, struct err *e)
{
	if (process_in(s, STARTING) != NULL || process_in(s, SERVING) != NULL || ev_is_active(&s->restart_timer) ||
	    process_start(s, false, e) == 0)
		return 0;
	service_restart_later(s);
	return -1;
}

static void
on_restart_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct service *s = t->data;
	struct err      e = { 0 };

	if (service_start(s, &e) == 0)
		return;
	log_error("%s: %s", name_of(s), e.text);
	requests_fail_at(s, NULL, &e);
}

int
service_try(struct service *s, struct err *e)
{
	struct process *starting = process_in(s, STARTING);

	if (process_start(s, true, e) == -1)
		return -1;
	if (starting != NULL) /* with what is in force, and for nobody */
		process_end(starting);
	ev_timer_stop(s->boxd->loop, &s->restart_timer);
	return 0;
}

/* ---- asking ------------------------------------------------------------------------------ */

static struct request *
request_new(struct service *s, const struct asker *who, enum msg_type t, const void *body, struct err *e)
{
	struct request *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		err_set(e, E_SYS, "no memory for a request");
		return NULL;
	}
	*r = (struct request){ .entry.id = boxd_next_id(s->boxd), .service = s, .who = *who, .type = t };
	if (msg_encode(&r->packet, t, r->entry.id, 0, body, e) == -1 ||
	    (s->plan->admit != NULL && s->plan->admit(s->owner, who->tag, &r->packet, e) == -1)) {
		packet_clear(&r->packet);
		free(r);
		return NULL;
	}
	idmap_add(&s->requests, &r->entry);
	ev_timer_init(&r->wait_timer, on_wait_timer, s->plan->wait_sec, 0.);
	r->wait_timer.data = r;
	if (s->plan->wait_sec > 0)
		ev_timer_start(s->boxd->loop, &r->wait_timer);
	return r;
}

int
service_ask(struct service *s, const struct asker *who, enum msg_type t, const void *body, struct err *e)
{
	struct request *r = service_start(s, e) == -1 ? NULL : request_new(s, who, t, body, e);
	struct process *p = process_in(s, SERVING);

	if (r == NULL)
		return -1;
	if (p == NULL || request_send(r, p, e) == 0)
		return 0;
	request_free(r);
	return -1;
}

void
service_ask_own(struct service *s, enum msg_type t, const void *body, void *tag, ask_fn *fn, void *arg)
{
	struct msg   refused = { .envelope = ENV_REPLY, .failed = true };
	struct asker own = { CONN_OWN, ask_open(s->boxd, t, fn, arg, &refused.error), tag };

	if (own.id == 0)
		fn(arg, &refused);
	else if (service_ask(s, &own, t, body, &refused.error) == -1)
		reply_fail(s->boxd, own.conn, own.id, &refused.error);
}

void
service_tell(struct service *s, enum msg_type t, const void *body)
{
	struct child *c = service_child(s);
	struct err    e;

	if (c == NULL || link_send(child_link(c), t, 0, 0, body, &e) == 0)
		return;
	log_error("%s=%d %s: %s", name_of(s), child_pid(c), msg_name(t), e.text);
	child_kill(c);
}

struct child *
service_child(const struct service *s)
{
	struct process *p = process_in(s, SERVING);

	return p == NULL ? NULL : p->child;
}

/* ---- open and close ------------------------------------------------------------------------ */

struct service *
service_open(struct boxd *h, const struct service_plan *plan, void *owner, struct err *e)
{
	struct service *s = malloc(sizeof(*s));

	assert(strncmp(plan->program, "box-", strlen("box-")) == 0 && plan->on_gone != NULL);
	assert(plan->ready != MSG_NONE || (plan->judge == NULL && plan->on_ready == NULL));
	if (s == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	*s = (struct service){ .boxd = h, .plan = plan, .owner = owner };
	LIST_INIT(&s->processes);
	idmap_init(&s->requests);
	ev_timer_init(&s->restart_timer, on_restart_timer, 0., 0.);
	s->restart_timer.data = s;
	return s;
}

void
service_close(struct service **sp)
{
	struct service     *s = *sp;
	struct process     *p;
	struct idmap_entry *c;

	if (s == NULL)
		return;
	*sp = NULL;
	ev_timer_stop(s->boxd->loop, &s->restart_timer);
	while ((c = idmap_first(&s->requests)) != NULL)
		request_free((struct request *)c);
	while ((p = LIST_FIRST(&s->processes)) != NULL)
		process_end(p);
	free(s);
}
