/*
 * From a spec to a session: made, reused, or refused.
 *
 *	[admitted: its directory, its skill] -> named -> [the one that is closing is gone] -> [its host_path is made] -> CREATE
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/create.h"
#include "core/machine.h"
#include "core/policy.h"
#include "core/registry.h"
#include "core/share.h"
#include "langbot/admission_spec.h"
#include "langbot/langbot_impl.h"

static void find_or_make(struct action *);

static void
fail(struct action *a, enum err_code code, const char *text)
{
	struct err e;

	err_set(&e, code, "%s", text);
	action_fail(a, &e);
}

void
session_request_free(struct session_request *m)
{
	free(m->workspace);
	free(m->skill_root);
	free(m->skill_path);
	free(m->mounts);
	owned_msg_clear(&m->sources_kept);
	owned_msg_clear(&m->result_kept);
	free(m);
}

/* ---- create -------------------------------------------------------------------------------------- */

/* The rules for host paths are boxd's, but a refusal by them has the words of LangBot's own list. */
static void
say_blocked(const struct action *a, struct err *e)
{
	const struct msg_spec *s = &a->request->native;
	const enum err_reason  r = e->reason;

	if (e->field == FIELD_HOST_PATH && (r == REASON_BLOCKED || r == REASON_OTHERS))
		spec_refuse_blocked(a->langbot, "host_path", s->host_path, e);
	else if (e->field == FIELD_EXTRA_MOUNTS && r == REASON_BLOCKED && e->number < s->extra_mounts.n)
		spec_refuse_blocked(a->langbot, "extra_mounts.host_path", s->extra_mounts.v[e->number].host_path, e);
}

/* The client has named the session itself, so the error need not. */
static void
create_failed(struct action *a, const struct err *why)
{
	struct err e = *why;

	err_strip(&e);
	if (a->langbot->shutting_down > 0)
		err_set(&e, E_SHUTDOWN, "Box runtime is shutting down");
	else
		say_blocked(a, &e);
	action_fail(a, &e);
}

/* reply: NULL, where nothing had to be asked. */
static void
on_created(struct action *a, const struct msg *reply)
{
	if (reply != NULL && reply->failed) {
		create_failed(a, &reply->error);
		return;
	}
	spec_observe_workspace(a->langbot, &a->request->native, a->name);
	a->request->then(a, reply);
}

static void
create(struct action *a)
{
	struct msg_create c = { .session = a->name, .spec = a->request->native };

	action_ask(a, MSG_CREATE, &c, on_created);
}

/* ---- room, and the directory ------------------------------------------------------------------- */

static int
check_room(const struct action *a, struct err *e)
{
	struct boxd   *h = a->langbot->boxd;
	const uint64_t ours = langbot_limits(a->langbot)->max_sessions;
	const uint64_t all = h->config->max_sessions;

	if (langbot_count_all(a->langbot) >= ours)
		return err_set(e, E_CAPACITY, "Box session capacity reached (%lu)", ours);
	if (registry_count(h->registry) >= all)
		return err_set(e, E_CAPACITY, "Box session capacity reached (%lu)", all);
	return share_check(h->config, langbot_sessions(a->langbot, &a->context), ours < all ? ours : all, E_CAPACITY,
	    "Box session capacity reached", e);
}

static void
on_host_made(struct action *a, const struct msg *reply)
{
	if (reply->failed) {
		action_fail(a, &reply->error);
		return;
	}
	a->request->host_made = true;
	find_or_make(a); /* boxd may look different by now */
}

static void
make_new(struct action *a)
{
	char        path[LIM_PATH + 1];
	const char *below = a->request->host_made
				? NULL
				: spec_below_workspace(a->langbot, &a->request->native, a->name, path);
	struct err  e;

	if (check_room(a, &e) == -1)
		action_fail(a, &e);
	else if (below != NULL)
		action_ask_store(a, MSG_STORE_WORKSPACE, &(struct msg_store_workspace){ .path = below }, on_host_made);
	else
		create(a);
}

/* ---- is there one? -------------------------------------------------------------------------------- */

static void
on_old_one_gone(struct action *a, const struct msg *reply)
{
	find_or_make(a);
}

static int
check_grant(struct action *a, bool is_new, struct err *e)
{
	struct langbot *l = a->langbot;

	if (!admission_enforced(l->boxd->admission))
		return 0;
	return admission_check_session(l->boxd->admission, &a->context, langbot_sessions(l, &a->context), is_new, e);
}

static int
check_existing(const struct action *a, const struct session *s, struct err *e)
{
	const struct msg_spec *have = session_spec(s);
	struct msg_spec       *want = &a->request->native;

	if (spec_compare(action_logical(a), have, want, e) == -1)
		return -1;
	spec_adopt(want, have);
	return 0;
}

static void
find_or_make(struct action *a)
{
	struct session *s = registry_find(a->langbot->boxd->registry, a->name);
	struct err      e;

	if (a->langbot->shutting_down > 0) {
		fail(a, E_SHUTDOWN, "Box runtime is shutting down");
	} else if (s != NULL && session_is_closing(s)) {
		action_end_session(a, on_old_one_gone);
	} else if (check_grant(a, s == NULL, &e) == -1 || (s != NULL && check_existing(a, s, &e) == -1)) {
		action_fail(a, &e);
	} else if (s == NULL) {
		make_new(a);
	} else if (session_spec(s)->roots.n == 0 && create_is_done(a->langbot->boxd, s, &a->request->native)) {
		on_created(a, NULL); /* with roots it is not LangBot's, which CREATE says */
	} else {
		create(a);
	}
}

/* ---- the spec ------------------------------------------------------------------------------------- */

static void
use_spec(struct action *a)
{
	struct session_request *m = a->request;
	struct langbot         *l = a->langbot;
	struct err              e = { 0 };

	if (m->spec.extra_mounts.n > LIM_MOUNTS) {
		fail(a, E_INVALID, "extra_mounts: there are more than the 256 that a session may have");
		return;
	}
	_Static_assert(LIM_MOUNTS == 256, "the text says so");
	spec_from_box(&m->native, &m->spec);
	if (tenancy_physical(&a->context, m->spec.session_id, a->name, &e) == -1 ||
	    policy_fill_spec(&m->native, l->boxd->config, &e) == -1 || spec_check_roots(l, &m->native, &e) == -1)
		action_fail(a, &e);
	else
		find_or_make(a);
}

static void
normalise(struct action *a)
{
	struct session_request *m = a->request;
	struct admitted         found = {
			.host_path = m->workspace,
			.skill_root = m->skill_root != NULL ? m->skill_root : "",
			.sources = m->sources.sources.v,
			.roots = &langbot_paths(a->langbot)->allowed_mount_roots,
	};
	struct err e;

	found.mounts = m->mounts = calloc(m->spec.extra_mounts.n + 1, sizeof(*m->mounts));
	found.skill_path = m->skill_path = *m->spec.skill_name != '\0' ? malloc(LIM_PATH + 1) : NULL;
	if (m->mounts == NULL || (*m->spec.skill_name != '\0' && m->skill_path == NULL))
		fail(a, E_SYS, "no memory for mounts");
	else if (admission_normalise(a->langbot->boxd->admission, &a->context, &m->spec, &found, &e) == -1)
		action_fail(a, &e);
	else
		use_spec(a);
}

static void
on_skill(struct action *a, const struct msg *reply)
{
	const struct msg_skill_found *found = reply->body;

	if (reply->failed || !found->found || found->skill.n == 0)
		fail(a, E_ADMISSION, "Managed sandbox skill is unavailable in this Workspace");
	else if ((a->request->skill_root = strdup(found->skill.v[0].package_root)) == NULL)
		fail(a, E_SYS, "no memory");
	else
		normalise(a);
}

static void
find_skill(struct action *a)
{
	struct msg_skill_get get;
	char                 ns[NAMESPACE_LEN + 1];

	if (*a->request->spec.skill_name == '\0') {
		normalise(a);
		return;
	}
	msg_defaults(MSG_SKILL_GET, &get);
	tenancy_namespace(&a->context, ns);
	get.context = a->context;
	get.ns = ns;
	get.name = a->request->spec.skill_name;
	action_ask_store(a, MSG_SKILL_GET, &get, on_skill);
}

static void
on_sources(struct action *a, const struct msg *reply)
{
	struct session_request *m = a->request;
	struct err              e = reply->error;

	if (!reply->failed) {
		m->sources = *(const struct msg_store_sources_found *)reply->body;
		if (m->sources.sources.n != m->spec.extra_mounts.n)
			err_set(&e, E_CRASH, "box-store found %zu of %zu mounts", m->sources.sources.n,
			    m->spec.extra_mounts.n);
		else if (owned_msg_copy(&m->sources_kept, MSG_STORE_SOURCES_FOUND, &m->sources, &e) == 0) {
			find_skill(a);
			return;
		}
	}
	action_fail(a, &e);
}

/* Where the mounts' sources really are; too many of them are refused without a look. */
static void
find_sources(struct action *a)
{
	const struct msg_box_spec *s = &a->request->spec;
	struct msg_store_sources   sources = { .mounts = { s->extra_mounts.n, s->extra_mounts.v } };
	char                       ns[NAMESPACE_LEN + 1];

	if (s->extra_mounts.n == 0 || s->extra_mounts.n > LIM_MOUNTS) {
		find_skill(a);
		return;
	}
	tenancy_namespace(&a->context, ns);
	sources.ns = ns;
	action_ask_store(a, MSG_STORE_SOURCES, &sources, on_sources);
}

static void
on_workspace(struct action *a, const struct msg *reply)
{
	if (reply->failed) {
		action_fail(a, &reply->error);
		return;
	}
	if ((a->request->workspace = strdup(((const struct msg_store_path *)reply->body)->path)) == NULL) {
		fail(a, E_SYS, "no memory");
		return;
	}
	a->request->host_made = true;
	find_sources(a);
}

/* The runtime decides where an admitted session works. */
static void
admit(struct action *a)
{
	char ns[NAMESPACE_LEN + 1], path[64];

	tenancy_namespace(&a->context, ns);
	snprintf(path, sizeof(path), "tenants/%s", ns);
	action_ask_store(a, MSG_STORE_WORKSPACE, &(struct msg_store_workspace){ .path = path }, on_workspace);
}

void
session_request_start(struct action *a, const struct msg_box_spec *spec, step_fn *then)
{
	struct langbot *l = a->langbot;

	assert(a->request == NULL);
	a->request = calloc(1, sizeof(*a->request));
	if (a->request == NULL) {
		fail(a, E_SYS, "no memory for a request");
		return;
	}
	a->request->spec = *spec;
	a->request->then = then;
	if (l->shutting_down > 0)
		fail(a, E_SHUTDOWN, "Box runtime is shutting down");
	else if (*langbot_backend(l) == '\0')
		fail(a, E_BACKEND,
		    "LangBot Box backend unavailable. Install and start Docker or nsjail, configure E2B, or explicitly "
		    "select the unsafe host backend.");
	else if (admission_enforced(l->boxd->admission))
		admit(a);
	else
		use_spec(a);
}

void
session_request_again(struct action *a)
{
	assert(!a->request->again); /* there is one second try */
	a->request->again = true;
	use_spec(a);
}

/* ---- box_create_session ---------------------------------------------------------------------------- */

static void
on_standing(struct action *a, const struct msg *reply)
{
	struct err      e;
	struct session *s = action_session(a, &e);
	char            id[32];

	if (s == NULL) {
		action_fail(a, &e);
		return;
	}
	struct msg_box_session session = box_session(a->langbot, s, action_logical(a), id);
	action_reply(a, MSG_BOX_SESSION, &session);
}

void
on_box_create(struct action *a)
{
	session_request_start(a, &((const struct msg_box_create *)a->body)->spec, on_standing);
}
