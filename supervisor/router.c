#include "router.h"

#include <stdio.h>
#include <string.h>

#include "admin.h"
#include "agent.h"
#include "langbot.h"
#include "log.h"
#include "machine.h"
#include "mountspec.h"
#include "policy.h"
#include "pool.h"
#include "readiness_trial.h"
#include "registry.h"

static int
to_session(struct house *h, const char *name, const struct msg *m, struct err *e)
{
	struct session *s = registry_find(h->registry, name);

	if (s == NULL)
		return err_set(e, E_NOTFOUND, "session %s not found", log_escape(name, strlen(name)));
	return session_deliver(s, m, e);
}

static bool
is_trial(const struct msg *m, const char *name)
{
	return m->conn == CONN_OWN && strncmp(name, TRIAL_PREFIX, strlen(TRIAL_PREFIX)) == 0;
}

static int
on_create(struct house *h, const struct msg *m, struct err *e)
{
	const struct msg_create *c = m->body;
	struct msg_spec          spec = c->spec;
	char                     name[LIM_NAME + 1];
	uint32_t                 uid_base;

	snprintf(name, sizeof(name), "%s", c->session);
	if (policy_check_name(name, e) == -1 || policy_fill_spec(&spec, h->config, e) == -1)
		return -1;
	if (h->machine->barrier.code != E_NONE)
		return err_set(e, E_BACKEND, "no sandbox can be made here: %.900s", h->machine->barrier.text);
	if (machine_require(h->machine, &spec.require, e) == -1)
		return -1;
	if (*name == '\0')
		policy_make_name(name);
	struct session *s = registry_find(h->registry, name);
	if (s != NULL && session_is_made_anew(s))
		return session_make_anew(s, m, e);
	if (s != NULL && policy_compare(name, session_spec(s), &spec, e) == -1)
		return -1;
	if (s != NULL && !mountspec_same_extra(session_spec(s), &spec))
		return session_make_anew(s, m, e);
	if (s != NULL)
		return session_deliver(s, m, e);
	/* a full house is no reason to call the machine not ready, which would stop those who are in it */
	if (!is_trial(m, name) && registry_room(h->registry, e) == -1)
		return -1;
	s = registry_take_spare(h->registry, name, &spec);
	if (s != NULL)
		return session_claim(s, &spec, m, e);
	if (registry_uids(h->registry, &uid_base, e) == -1)
		return -1;
	s = session_create(h, name, &spec, uid_base, m, e);
	if (s == NULL) {
		registry_release(h->registry, uid_base);
		return -1;
	}
	registry_add(h->registry, s);
	if (spec.network == NETWORK_ON)
		log_warn("session=%lu name=%s asked for network: on, and has loopback only", session_info(s).id, name);
	return 0;
}

/* The session that its field of that name names. */
static int
to_named(struct house *h, const struct msg *m, struct err *e)
{
	for (const struct field *f = msg_def(m->type)->fields; f->name != NULL; f++)
		if (f->kind == K_STR && strcmp(f->name, "session") == 0)
			return to_session(h, *(const char *const *)((const char *)m->body + f->offset), m, e);
	return err_set(e, E_PROTO, "%s names no session", msg_name(m->type));
}

/* These name a request of the same connection. */
static int
to_request_owner(struct house *h, uint64_t call, const struct msg *m, struct err *e)
{
	struct session *s = registry_request_owner(h->registry, m->conn, call);

	if (s == NULL)
		return err_set(e, E_NOTFOUND, "no command of request %lu is running", call);
	return session_deliver(s, m, e);
}

static int
on_cancel(struct house *h, const struct msg *m, struct err *e)
{
	if (agent_cancel(h->agent, m))
		return 0;
	return to_request_owner(h, ((const struct msg_cancel *)m->body)->call, m, e);
}

static int
on_output_ack(struct house *h, const struct msg *m, struct err *e)
{
	return to_request_owner(h, ((const struct msg_output_ack *)m->body)->call, m, e);
}

static const struct {
	int (*fn)(struct house *, const struct msg *, struct err *);
	bool makes_work; /* refused while stopping */
} on[MSG__COUNT] = {
	[MSG_PING] = { admin_ping, false },
	[MSG_STATUS] = { admin_status, false },
	[MSG_GET] = { admin_get, false },
	[MSG_LIST] = { admin_list, false },
	[MSG_CREATE] = { on_create, true },
	[MSG_EXEC] = { to_named, true },
	[MSG_DELETE] = { to_named, false },
	[MSG_PAUSE] = { to_named, true },
	[MSG_UNPAUSE] = { to_named, true },
	[MSG_PROCESS_START] = { to_named, true },
	[MSG_PROCESS_GET] = { to_named, false },
	[MSG_PROCESS_LIST] = { to_named, false },
	[MSG_PROCESS_STOP] = { to_named, true },
	[MSG_PROCESS_WRITE] = { to_named, true },
	[MSG_PROCESS_ATTACH] = { to_named, true },
	[MSG_FILE_STAT] = { to_named, true },
	[MSG_FILE_LIST] = { to_named, true },
	[MSG_FILE_MKDIR] = { to_named, true },
	[MSG_FILE_SYMLINK] = { to_named, true },
	[MSG_FILE_REMOVE] = { to_named, true },
	[MSG_FILE_OPEN] = { to_named, true },
	[MSG_FILE_READ] = { to_named, true },
	[MSG_FILE_WRITE] = { to_named, true },
	[MSG_FILE_CLOSE] = { to_named, true },
	[MSG_BOX_INVALID] = { langbot_deliver, false },
	[MSG_BOX_EXEC] = { langbot_deliver, true },
	[MSG_BOX_CREATE] = { langbot_deliver, true },
	[MSG_BOX_GET] = { langbot_deliver, false },
	[MSG_BOX_LIST] = { langbot_deliver, false },
	[MSG_BOX_DELETE] = { langbot_deliver, false },
	[MSG_BOX_PROCESS_START] = { langbot_deliver, true },
	[MSG_BOX_PROCESS_GET] = { langbot_deliver, false },
	[MSG_BOX_PROCESS_STOP] = { langbot_deliver, true },
	[MSG_BOX_STATUS] = { langbot_deliver, false },
	[MSG_BOX_PING] = { langbot_deliver, false },
	[MSG_BOX_HEALTH] = { langbot_deliver, false },
	[MSG_BOX_BACKEND_INFO] = { langbot_deliver, false },
	[MSG_BOX_INIT] = { langbot_deliver, true },
	[MSG_BOX_VERIFY_WORKSPACE] = { langbot_deliver, true },
	[MSG_BOX_UPSERT_GRANT] = { langbot_deliver, true },
	[MSG_BOX_REVOKE_GRANT] = { langbot_deliver, true },
	[MSG_BOX_SHUTDOWN] = { langbot_deliver, false },
	[MSG_SKILL_LIST] = { langbot_deliver, true },
	[MSG_SKILL_GET] = { langbot_deliver, true },
	[MSG_SKILL_CREATE] = { langbot_deliver, true },
	[MSG_SKILL_UPDATE] = { langbot_deliver, true },
	[MSG_SKILL_DELETE] = { langbot_deliver, true },
	[MSG_SKILL_SCAN] = { langbot_deliver, true },
	[MSG_SKILL_FILES] = { langbot_deliver, true },
	[MSG_SKILL_READ] = { langbot_deliver, true },
	[MSG_SKILL_WRITE] = { langbot_deliver, true },
	[MSG_SKILL_PREVIEW] = { langbot_deliver, true },
	[MSG_SKILL_INSTALL] = { langbot_deliver, true },
	[MSG_AGENT_EXEC] = { agent_exec, true },
	[MSG_AGENT_PROFILES] = { agent_profiles, false },
	[MSG_AGENT_ERRORS] = { agent_errors, false },
	[MSG_AGENT_STATUS] = { agent_status, false },
	[MSG_POOL_CREATE] = { pool_deliver, true },
	[MSG_POOL_REMOVE] = { pool_deliver, true },
	[MSG_POOL_STATUS] = { pool_deliver, false },
	[MSG_CANCEL] = { on_cancel, false },
	[MSG_OUTPUT_ACK] = { on_output_ack, false },
};

int
route(struct house *h, struct msg *m, struct err *e)
{
	if (on[m->type].fn == NULL)
		return err_set(e, E_PROTO, "%s is not for clients", msg_name(m->type));
	if (on[m->type].makes_work && h->stopping)
		return err_set(e, E_SHUTDOWN, "boxd is shutting down");
	return on[m->type].fn(h, m, e);
}
