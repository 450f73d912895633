#include "children/reopen.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "children/child.h"
#include "children/egress.h"
#include "core/dirs.h"
#include "core/registry.h"
#include "core/session_impl.h"

struct reopen {
	struct boxd  *boxd;
	struct child *child; /* owned; NULL: nothing is under way */
	uint64_t      id;    /* of the session it is for */
};

static void reopen_next(struct reopen *);

static void
on_msg(void *arg, struct msg *m)
{
	struct reopen *r = arg;

	if (m->type == MSG_WORKER_FAILED)
		log_warn("session=%lu its namespace keeps the ranges it was built with: %s", r->id,
		    ((const struct msg_worker_failed *)m->body)->reason);
	if (m->type == MSG_WORKER_FAILED)
		child_kill(r->child);
}

static void
on_gone(void *arg, int status)
{
	struct reopen *r = arg;

	child_close(&r->child);
	reopen_next(r);
}

static const struct child_ops ops = { on_msg, on_gone };

static int
reopen_start(struct reopen *r, struct session *s, struct err *e)
{
	struct msg_worker_start start;
	struct msg_path_rule    rules[LIM_ALL_RULES];

	r->child = child_start(r->boxd, "box-session", FROM_WORKER, &ops, r, e);
	if (r->child == NULL)
		return -1;
	session_fill_start(s, &s->spec, WORK_REOPEN, rules, &start);
	struct strs *opened = session_net_plan(s, &start);
	int          sent = link_send(child_link(r->child), MSG_WORKER_START, 0, 0, &start, e);
	free(opened);
	return sent;
}

static bool
is_outdated(const struct session *s, uint64_t generation)
{
	return s->net_mode == NET_MODE_EGRESS && s->net_generation != generation && s->init_pid != 0 && !s->spare &&
	       (s->state == STATE_READY || s->state == STATE_RESTARTING);
}

static bool
find_outdated(struct session *s, void *arg)
{
	struct session **found = arg;

	if (!is_outdated(s, egress_generation(s->boxd->egress)))
		return true;
	*found = s;
	return false;
}

static void
reopen_next(struct reopen *r)
{
	struct session *s = NULL;
	struct err      e;

	if (r->child != NULL || r->boxd->stopping)
		return;
	registry_each(r->boxd->registry, find_outdated, &s);
	if (s == NULL)
		return;
	r->id = s->id;
	if (reopen_start(r, s, &e) == 0)
		return;
	log_warn("session=%lu its namespace keeps the ranges it was built with: %s", r->id, e.text);
	s->net_generation = egress_generation(r->boxd->egress);
	if (r->child != NULL)
		child_kill(r->child); /* its end goes on with the next */
	else
		reopen_next(r);
}

void
reopen_all(struct reopen *r)
{
	reopen_next(r);
}

struct reopen *
reopen_open(struct boxd *h, struct err *e)
{
	struct reopen *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	r->boxd = h;
	return r;
}

void
reopen_close(struct reopen **rp)
{
	if (*rp != NULL)
		child_end(&(*rp)->child);
	free(*rp);
	*rp = NULL;
}
