/* What agents can ask for: profiles, recent errors, status. */
#include <stdio.h>
#include <string.h>

#include "agent/agent_impl.h"
#include "core/errorring.h"
#include "core/machine.h"
#include "core/registry.h"
#include "core/reply.h"
#include "langbot/langbot.h"

int
agent_profiles(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct config          *c = h->config;
	struct msg_agent_profile      v[PROFILES];
	struct msg_agent_profile_list all = { .configured = profile_get(c->agent_profiles, c->agent_profile)->name };

	for (int i = 0; i < PROFILES; i++) {
		const struct msg_agent_profile *p = profile_get(c->agent_profiles, (enum profile)i);

		if (p == NULL)
			continue;
		struct msg_agent_profile *told = &v[all.profiles.n++];
		*told = *p;
		if (*c->agent_image != '\0')
			told->image = c->agent_image;
		if (c->agent_workspace_quota_mb > 0)
			told->workspace_quota_mb = c->agent_workspace_quota_mb;
	}
	all.profiles.v = v;
	reply_send(h, MSG_AGENT_PROFILE_LIST, m->conn, m->id, &all);
	return 0;
}

int
agent_errors(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct msg_agent_errors *ask = m->body;
	const struct errorring_who     who = { ask->instance, ask->workspace, "" };
	struct msg_agent_error         v[LIM_RECENT_ERRORS];
	struct msg_agent_error_list    list = { .errors.v = v };

	list.errors.n = errorring_list(h->errors, ask->all ? NULL : &who, v);
	reply_send(h, MSG_AGENT_ERROR_LIST, m->conn, m->id, &list);
	return 0;
}

/* ---- status ---- */

static void
tell_limits(const struct boxd *h, struct msg_agent_limits *l)
{
	const struct msg_box_limits *langbot = langbot_limits(h->langbot);

	*l = (struct msg_agent_limits){
		.max_sessions = h->config->max_sessions,
		.max_managed_processes = h->config->max_processes,
		.max_completed_processes = h->config->process_retained,
		.max_admission_records = langbot->max_admission_records,
		.max_rpc_file_bytes = langbot->max_rpc_file_bytes,
	};
}

/* Why agents cannot run anything; empty when they can. */
static void
tell_barrier(const struct boxd *h, struct err *why)
{
	const struct err *barrier = &h->machine->barrier;

	why->text[0] = '\0';
	if (!h->config->agent_enabled)
		err_set(why, E_BACKEND, "Box runtime is disabled in config (agent.enabled = no)");
	else if (barrier->code != E_NONE)
		err_set(why, E_BACKEND, "Configured sandbox backend \"native\" is unavailable: %.900s", barrier->text);
	else if (h->stopping)
		err_set(why, E_SHUTDOWN, "Box runtime is shutting down");
}

int
agent_status(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct msg_agent_status *ask = m->body;
	const struct errorring_who     who = { ask->instance, ask->workspace, "" };
	struct msg_agent_error         errors[LIM_RECENT_ERRORS];
	char                           prefix[LIM_NAME + 1];
	struct err                     why;

	agent_prefix(ask->instance, ask->workspace, prefix);
	struct group_sum mine = registry_sum(h->registry, (struct group_key){ prefix, strlen(prefix) });
	tell_barrier(h, &why);
	struct msg_agent_status_result r = {
		.backend = { .name = "native", .available = h->machine->barrier.code == E_NONE },
		.active_sessions = mine.n[OPEN_SESSIONS],
		.managed_processes = mine.n[PROCESSES],
		.session_ttl_sec = h->config->idle_ttl_sec,
		.available = *why.text == '\0',
		.enabled = h->config->agent_enabled,
		.profile = profile_get(h->config->agent_profiles, h->config->agent_profile)->name,
		.recent_error_count = errorring_list(h->errors, &who, errors),
		.connector_error = why.text,
	};
	tell_limits(h, &r.limits);
	reply_send(h, MSG_AGENT_STATUS_RESULT, m->conn, m->id, &r);
	return 0;
}
