#include "spare.h"

#include <stdio.h>
#include <stdlib.h>

#include "dirs.h"
#include "log.h"

enum { MOST = 16 };

static const double REFILL_SEC = 0.002; /* after the create that took one is on its way */
static const double RETRY_SEC = 1.0;    /* a spare died or could not start: not in a hurry */

struct spare {
	struct spares *all;
	struct child  *child; /* owned; NULL: an empty place */
};

struct spares {
	struct house *house;
	char          program[PATH_MAX + 16];
	size_t        wanted;
	struct spare  places[MOST];
	ev_timer      refill; /* runs while a place is empty */
};

static void
on_msg(void *arg, struct msg *m)
{
	(void)arg;
	log_warn("a spare worker sent %s", msg_name(m->type));
}

static void
refill_in(struct spares *s, double sec)
{
	if (ev_is_active(&s->refill) || s->house->stopping)
		return;
	ev_timer_set(&s->refill, sec, 0.);
	ev_timer_start(s->house->loop, &s->refill);
}

static void
on_gone(void *arg, int status)
{
	struct spare *p = arg;

	log_warn("worker=%d spare gone %s", child_pid(p->child), child_status(status));
	child_close(&p->child);
	refill_in(p->all, RETRY_SEC);
}

static const struct child_ops ops = { on_msg, on_gone };

/* One at a time, so that the loop never stands still for long. */
static void
on_refill(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct spares *s = t->data;
	struct err     e = { 0 };

	(void)revents;
	for (size_t i = 0; i < s->wanted; i++) {
		struct spare *p = &s->places[i];

		if (p->child != NULL)
			continue;
		p->child = child_spawn(loop, s->program, FROM_WORKER, &ops, p, &e);
		if (p->child == NULL)
			log_warn("no spare worker: %s", e.text);
		refill_in(s, p->child == NULL ? RETRY_SEC : REFILL_SEC);
		return;
	}
}

struct spares *
spares_open(struct house *h, struct err *e)
{
	struct spares *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	s->house = h;
	s->wanted = h->config->spare_workers;
	snprintf(s->program, sizeof(s->program), "%s/box-session", h->dirs->libexec);
	for (size_t i = 0; i < MOST; i++)
		s->places[i].all = s;
	ev_timer_init(&s->refill, on_refill, 0., 0.);
	s->refill.data = s;
	if (s->wanted > 0)
		refill_in(s, 0);
	return s;
}

struct child *
spares_take(struct spares *s, const struct child_ops *to, void *arg, struct err *e)
{
	for (size_t i = 0; i < s->wanted; i++) {
		struct child *c = s->places[i].child;

		if (c == NULL)
			continue;
		s->places[i].child = NULL;
		child_give(c, to, arg);
		refill_in(s, REFILL_SEC);
		return c;
	}
	return child_spawn(s->house->loop, s->program, FROM_WORKER, to, arg, e);
}

void
spares_close(struct spares **sp)
{
	struct spares *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	ev_timer_stop(s->house->loop, &s->refill);
	for (size_t i = 0; i < MOST; i++)
		child_close(&s->places[i].child);
	free(s);
}
