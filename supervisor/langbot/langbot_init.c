/*
 * box_init: LangBot's box section, applied whole or not at all.  It comes with every connect.  The store tries the
 * directories first; only when it stands the rest is taken over, and written down for the next boxd.  One at a time.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "children/gateway.h"
#include "children/store.h"
#include "core/dirs.h"
#include "core/journal.h"
#include "auth/identity.h"
#include "langbot/langbot_impl.h"
#include "langbot/readiness.h"
#include "langbot/tenantroots.h"

static void configure_next(struct langbot *);

/* ---- what it adds to the ones before it ------------------------------------------------------------ */

static bool
was_given(const struct msg_box_init *i, const char *name)
{
	for (size_t k = 0; k < i->limits_given.n; k++)
		if (strcmp(i->limits_given.v[k], name) == 0)
			return true;
	return false;
}

/* All fields of this message are numbers. */
static void
merge_limits(struct msg_box_limits *have, const struct msg_box_init *news)
{
	for (const struct field *f = msg_def(MSG_BOX_LIMITS)->fields; f->name != NULL; f++)
		if (was_given(news, f->name))
			memcpy((char *)have + f->offset, (const char *)&news->limits + f->offset, sizeof(uint64_t));
}

/* Borrows from both. */
static struct msg_box_init
merged(const struct msg_box_init *have, const struct msg_box_init *news)
{
	struct msg_box_init m = *have;

	if (news->has_backend) {
		m.has_backend = true;
		m.backend = news->backend;
	}
	if (news->has_limits) {
		m.has_limits = true;
		merge_limits(&m.limits, news);
	}
	if (news->has_local) {
		m.has_local = true;
		m.local = news->local;
	}
	if (news->has_admission) {
		m.has_admission = true;
		m.admission = news->admission;
		m.admission_error = news->admission_error;
	}
	return m;
}

/* ---- applying --------------------------------------------------------------------------------------------- */

static int
write_state(void *arg, struct journal *j, struct err *e)
{
	struct langbot          *l = arg;
	struct msg_langbot_state s = { .init = l->init };

	return journal_append(j, MSG_LANGBOT_STATE, &s, e);
}

static void
remember(struct langbot *l)
{
	struct err e;

	if (write_state(l, l->journal, &e) == -1 ||
	    (journal_is_long(l->journal, 1) && journal_compact(l->journal, write_state, l, &e) == -1))
		log_error("box_init holds until boxd is restarted: %s", e.text);
}

/* Replaces what was kept; *fresh is empty then. */
static void
replace(struct owned_msg *old, struct owned_msg *fresh)
{
	owned_msg_clear(old);
	*old = *fresh;
	*fresh = (struct owned_msg){ 0 };
}

static int
use_paths(struct langbot *l, const struct msg_store_ready *ready, struct err *e)
{
	struct msg_store_ready paths = *ready;

	if (owned_msg_copy(&l->paths_kept, MSG_STORE_READY, &paths, e) == -1)
		return -1;
	l->paths = paths;
	tenantroots_learn(l->boxd->tenantroots, paths.default_workspace);
	tenantroots_learn(l->boxd->tenantroots, paths.skills_root);
	return 0;
}

static void
tell_gateway(struct langbot *l)
{
	struct msg_http_limits limits = { .max_rpc_file_bytes = l->init.limits.max_rpc_file_bytes };

	gateway_tell(l->boxd->gateway, MSG_HTTP_LIMITS, &limits);
}

static int
apply(struct langbot *l, const struct msg_box_init *news, const struct msg_store_ready *ready, struct err *e)
{
	struct msg_box_init init = merged(&l->init, news);
	struct owned_msg    fresh = { 0 };
	uint64_t            file_bytes = l->init.limits.max_rpc_file_bytes;

	if (owned_msg_copy(&fresh, MSG_BOX_INIT, &init, e) == -1 || use_paths(l, ready, e) == -1) {
		owned_msg_clear(&fresh);
		return -1;
	}
	replace(&l->init_kept, &fresh);
	l->init = init;
	tenancy_set_room(l->boxd->tenancy, init.limits.max_admission_records);
	if (init.limits.max_rpc_file_bytes != file_bytes)
		tell_gateway(l);
	if (news->has_admission || *news->admission_error != '\0')
		admission_configure(l->boxd->admission, news);
	readiness_forget(l->boxd);
	remember(l);
	log_info("box_init backend=%s workspace=%s skills=%s", *init.backend != '\0' ? init.backend : "local",
	    l->paths.default_workspace, l->paths.skills_root);
	return 0;
}

/* ---- one after the other ------------------------------------------------------------------------------------ */

static struct action *
next_init(struct langbot *l)
{
	struct action *a;

	TAILQ_FOREACH (a, &l->actions, next)
		if (a->type == MSG_BOX_INIT)
			return a;
	return NULL;
}

/* It is applied even if its client has left: the store has changed already. */
static void
on_store(void *arg, const struct msg *reply)
{
	struct langbot *l = arg;
	struct action  *a = next_init(l);
	struct err      e = { 0 };

	assert(l->configuring && a != NULL); /* no BOX_INIT goes before its answer */
	l->configuring = false;
	if (reply->failed)
		action_fail(a, &reply->error);
	else if (apply(l, a->body, reply->body, &e) == -1)
		action_fail(a, &e);
	else
		action_done(a);
	configure_next(l);
}

static void
configure_next(struct langbot *l)
{
	struct action *a = next_init(l);
	struct err     e = { 0 };

	if (a == NULL || l->configuring)
		return;
	struct msg_box_init init = merged(&l->init, a->body);
	l->configuring = true;
	if (store_configure(l->boxd->store, &init.local, on_store, l, &e) == 0)
		return;
	l->configuring = false;
	action_fail(a, &e);
	configure_next(l);
}

/* Upstream's host backend has no walls, so only trusted clients may name it; boxd's has the walls of any other. */
static int
check_backend(const struct action *a, struct err *e)
{
	const struct msg_box_init *init = a->body;
	const struct boxd         *h = a->langbot->boxd;
	const struct identity     *by = gateway_client(h->gateway, a->conn);

	if (!init->has_backend || strcmp(init->backend, "host") != 0)
		return 0;
	if ((by != NULL && by->vouched) || !config_trusts_everybody(h->config))
		return 0;
	return err_set(e, E_INVALID,
	    "host backend requires local stdio control or WebSocket control protected by LANGBOT_BOX_CONTROL_TOKEN");
}

void
on_box_init(struct action *a)
{
	struct langbot *l = a->langbot;
	struct err      e;

	if (check_backend(a, &e) == -1)
		action_fail(a, &e);
	configure_next(l);
}

/* ---- after a restart ------------------------------------------------------------------------------------------ */

static int
on_record(void *arg, const struct msg *m, struct err *e)
{
	struct langbot     *l = arg;
	struct msg_box_init init = ((const struct msg_langbot_state *)m->body)->init;

	if (m->type != MSG_LANGBOT_STATE)
		return err_set(e, E_PROTO, "%s does not belong there", msg_name(m->type));
	if (owned_msg_copy(&l->init_kept, MSG_BOX_INIT, &init, e) == -1)
		return -1;
	l->init = init;
	return 0;
}

static void
on_restored(void *arg, const struct msg *reply)
{
	struct langbot *l = arg;
	struct err      e = reply->error;

	l->configuring = false;
	if (reply->failed || use_paths(l, reply->body, &e) == -1)
		log_warn("LangBot's directories are not as they were until its next box_init: %s", e.text);
	configure_next(l);
}

/*
 * Admission is not switched on again by what is written here: only so can a restart, as LangBot has it, switch it
 * off; LangBot sends the section before it asks for anything.
 */
int
langbot_restore(struct langbot *l, struct err *e)
{
	l->journal = journal_open(l->boxd->dirs->state, "langbot", on_record, l, e);
	if (l->journal == NULL)
		return -1;
	tenancy_set_room(l->boxd->tenancy, l->init.limits.max_admission_records);
	if (!l->init.has_local)
		return 0;
	l->configuring = true;
	if (store_configure(l->boxd->store, &l->init.local, on_restored, l, e) == -1) {
		l->configuring = false;
		log_warn("LangBot's directories are not as they were until its next box_init: %s", e->text);
	}
	return 0;
}
