/* What LangBot can ask about its sessions and about boxd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/registry.h"
#include "core/share.h"
#include "langbot/langbot_impl.h"
#include "langbot/readiness.h"

struct msg_box_session
box_session(const struct langbot *l, const struct session *s, const char *logical, char id[32])
{
	struct msg_session_info info = session_info(s);

	snprintf(id, 32, "boxd-%lu", info.id); /* as in the log; the name on this machine stays here */
	return (struct msg_box_session){
		.session_id = logical,
		.backend = langbot_backend(l),
		.backend_session_id = id,
		.spec = *session_spec(s),
		.created_us = info.created_ms * 1000,
		.last_used_us = info.last_used_ms * 1000,
		.running = info.running > 0,
		.notice = info.notice,
	};
}

/* ---- counting ---------------------------------------------------------------------------------------- */

static struct group_sum
current(const struct langbot *l, const struct msg_context *c)
{
	char text[LIM_NAME + 1];

	return registry_sum(l->boxd->registry, tenancy_group_current(c, text));
}

size_t
langbot_sessions(const struct langbot *l, const struct msg_context *c)
{
	return current(l, c).n[OPEN_SESSIONS];
}

uint64_t
langbot_processes(const struct langbot *l, const struct msg_context *c)
{
	return c != NULL ? current(l, c).n[OPEN_PROCESSES]
			 : registry_sum(l->boxd->registry, GROUP_LANGBOT).n[PROCESSES];
}

size_t
langbot_count_all(const struct langbot *l)
{
	return registry_sum(l->boxd->registry, GROUP_LANGBOT).n[SESSIONS];
}

size_t
langbot_owned_sessions(const struct langbot *l, const struct msg_context *c)
{
	char text[LIM_NAME + 1];

	return registry_sum(l->boxd->registry, tenancy_group(c, text)).n[OPEN_SESSIONS];
}

/* ---- list ---------------------------------------------------------------------------------------------- */

struct listing {
	struct action          *action;
	struct msg_box_sessions all;
	char (*ids)[32];
};

static bool
list_one(struct session *s, void *arg)
{
	struct listing *l = arg;
	const char     *logical = tenancy_logical(&l->action->context, session_name(s));
	size_t          n = l->all.sessions.n;

	if (session_is_closing(s))
		return true;
	l->all.sessions.v[n] = box_session(l->action->langbot, s, logical, l->ids[n]);
	l->all.sessions.n++;
	return true;
}

void
on_box_list(struct action *a)
{
	size_t         n = langbot_sessions(a->langbot, &a->context) + 1;
	struct listing l = { .action = a };
	struct err     e;
	char           text[LIM_NAME + 1];

	l.all.sessions.v = calloc(n, sizeof(*l.all.sessions.v));
	l.ids = calloc(n, sizeof(*l.ids));
	if (l.all.sessions.v == NULL || l.ids == NULL) {
		err_set(&e, E_SYS, "no memory for the list");
		action_fail(a, &e);
	} else {
		registry_each_of(a->langbot->boxd->registry, tenancy_group_current(&a->context, text), list_one, &l);
		action_reply(a, MSG_BOX_SESSIONS, &l.all);
	}
	free(l.all.sessions.v);
	free(l.ids);
}

/* ---- delete ---------------------------------------------------------------------------------------------- */

static void
on_gone(struct action *a, const struct msg *reply)
{
	action_done(a);
}

void
on_box_delete(struct action *a)
{
	const struct msg_box_delete *d = a->body;
	struct err                   e;

	if (action_name(a, d->session_id, &e) == -1 ||
	    (registry_find(a->langbot->boxd->registry, a->name) == NULL && action_session(a, &e) == NULL))
		action_fail(a, &e);
	else
		action_end_session(a, on_gone); /* one that is closing already is waited for */
}

/* ---- boxd -------------------------------------------------------------------------------------------- */

static uint64_t
left(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What a new session of the workspace is measured by, see check_room in langbot_make.c. */
static struct msg_box_capacity
capacity(const struct action *a)
{
	struct boxd            *h = a->langbot->boxd;
	const uint64_t          ours = langbot_limits(a->langbot)->max_sessions, all = h->config->max_sessions;
	struct msg_box_capacity c = { .limit = share_of(h->config, least(ours, all)) };

	c.limit = least(c.limit, admission_max_sessions(h->admission, &a->context));
	c.used = langbot_owned_sessions(a->langbot, &a->context);
	c.remaining = least(left(c.limit, c.used), left(ours, langbot_count_all(a->langbot)));
	c.remaining = least(c.remaining, left(all, registry_count(h->registry)));
	return c;
}

static void
on_status_readiness(struct action *a, const struct msg *reply)
{
	struct msg_box_status_result r = {
		.active_sessions = langbot_sessions(a->langbot, &a->context),
		.managed_processes = langbot_processes(a->langbot, &a->context),
		.session_ttl_sec = a->langbot->boxd->config->idle_ttl_sec,
		.limits = *langbot_limits(a->langbot),
		.capacity = capacity(a),
	};

	if (reply->failed) {
		action_fail(a, &reply->error);
		return;
	}
	r.readiness = *(const struct msg_readiness *)reply->body;
	action_reply(a, MSG_BOX_STATUS_RESULT, &r);
}

void
on_box_status(struct action *a)
{
	action_ask_readiness(a, on_status_readiness);
}

static void
on_backend_readiness(struct action *a, const struct msg *reply)
{
	if (reply->failed)
		action_fail(a, &reply->error);
	else
		action_reply(a, MSG_READINESS, reply->body);
}

void
on_box_backend_info(struct action *a)
{
	action_ask_readiness(a, on_backend_readiness);
}

static void
on_health_readiness(struct action *a, const struct msg *reply)
{
	const struct msg_readiness *r = reply->body;
	struct err                  e;

	if (reply->failed || !r->enforced || r->ready) {
		on_backend_readiness(a, reply);
		return;
	}
	err_set(&e, E_READINESS, "managed sandbox isolation is not ready");
	action_fail(a, &e);
}

void
on_box_health(struct action *a)
{
	action_ask_readiness(a, on_health_readiness);
}
