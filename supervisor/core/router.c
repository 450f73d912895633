#include "core/router.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/log.h"
#include "children/egress.h"
#include "children/pool.h"
#include "config/mountspec.h"
#include "core/admin.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/policy.h"
#include "core/registry.h"
#include "core/spare.h"
#include "door/door.h"
#include "door/identity.h"
#include "langbot/langbot.h"
#include "langbot/readiness_trial.h"

static int
to_session(struct boxd *h, const char *name, const struct msg *m, struct err *e)
{
	struct session *s = registry_find(h->registry, name);

	if (s == NULL)
		return err_session(e, E_NOTFOUND, "session %s not found", log_escape(name, strlen(name)));
	return session_deliver(s, m, e);
}

static bool
is_trial(const struct msg *m, const char *name)
{
	return m->conn == CONN_OWN && strncmp(name, TRIAL_PREFIX, strlen(TRIAL_PREFIX)) == 0;
}

/* Rules that are none are told before anything is made.  An agent's profile need not have a section. */
static int
check_network(const struct boxd *h, const struct msg *m, const struct msg_spec *s, struct err *e)
{
	struct netrules *own = netrules_of(&s->network_rules, e);
	bool             good = own != NULL;

	netrules_free(&own);
	if (good && m->conn != CONN_OWN && !netrules_has(egress_rules(h->egress), s->network_set))
		return err_set(e, E_INVALID, "spec.network_set: %s has no section [%s]",
		    *h->config->network_rules != '\0' ? h->config->network_rules
						      : "there are no rules, and the file network.rules",
		    log_escape(s->network_set, strlen(s->network_set)));
	return good ? 0 : -1;
}

/* What is to be done without the image is the operator's choice. */
static int
check_image(const struct boxd *h, const struct msg_spec *s, struct err *e)
{
	if (*s->image == '\0' || strcmp(h->config->image_missing, "refuse") != 0)
		return 0;
	AUTO_FD int image = dirs_image(h->dirs, s->image);
	if (image >= 0)
		return 0;
	return err_set(e, E_INVALID,
	    "spec.image: %s is not in the store, and image_missing = refuse in boxd.conf; name an image that is there, "
	    "or let the operator set image_missing = host-view",
	    s->image);
}

static int
on_create(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct msg_create *c = m->body;
	struct msg_spec          spec = c->spec;
	char                     name[LIM_NAME + 1];
	uint32_t                 uid_base;

	snprintf(name, sizeof(name), "%s", c->session);
	if (policy_check_name(name, e) == -1 || policy_fill_spec(&spec, h->config, e) == -1 ||
	    check_network(h, m, &spec, e) == -1)
		return -1;
	if (h->machine->barrier.code != E_NONE)
		return err_set(e, E_BACKEND, "no sandbox can be made here: %.900s", h->machine->barrier.text);
	if (machine_require(h->machine, &spec.require, e) == -1)
		return -1;
	if (*name == '\0')
		policy_make_name(name);
	struct session *s = registry_find(h->registry, name);
	if (s != NULL && policy_compare(name, session_spec(s), &spec, e) == -1)
		return -1;
	if (s != NULL)
		return session_deliver(s, m, e);
	if (check_image(h, &spec, e) == -1)
		return -1;
	/* a full boxd is no reason to call the machine not ready, which would stop those who are in it */
	if (!is_trial(m, name) && registry_room(h->registry, name, e) == -1)
		return -1;
	s = registry_take_spare(h->registry, name, &spec);
	if (s != NULL)
		return session_claim(s, &spec, m, e);
	spares_asked(h->spares, spec.network);
	if (registry_uids(h->registry, &uid_base, e) == -1)
		return -1;
	s = session_create(h, name, &spec, uid_base, m, e);
	if (s == NULL) {
		registry_release(h->registry, uid_base);
		return -1;
	}
	registry_add(h->registry, s);
	return 0;
}

/* A string of the message; NULL when it has none of that name. */
static const struct field *
field_named(enum msg_type t, const char *name)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (f->kind == K_STR && strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

/* The session that its field of that name names. */
static int
to_named(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct field *f = field_named(m->type, "session");

	if (f == NULL)
		return err_set(e, E_PROTO, "%s names no session", msg_name(m->type));
	return to_session(h, *(const char *const *)((const char *)m->body + f->offset), m, e);
}

/* These name a request of the same connection. */
static int
to_request_owner(struct boxd *h, uint64_t call, const struct msg *m, struct err *e)
{
	struct session *s = registry_request_owner(h->registry, m->conn, call);

	if (s == NULL)
		return err_set(e, E_NOTFOUND, "no command of request %lu is running", call);
	return session_deliver(s, m, e);
}

static int
on_cancel(struct boxd *h, const struct msg *m, struct err *e)
{
	if (agent_cancel(h->agent, m))
		return 0;
	return to_request_owner(h, ((const struct msg_cancel *)m->body)->call, m, e);
}

static int
on_output_ack(struct boxd *h, const struct msg *m, struct err *e)
{
	return to_request_owner(h, ((const struct msg_output_ack *)m->body)->call, m, e);
}

typedef int deliver_fn(struct boxd *, const struct msg *, struct err *);

/* What boxd answers itself. */
static deliver_fn *const own[MSG__COUNT] = {
	[MSG_PING] = admin_ping,
	[MSG_STATUS] = admin_status,
	[MSG_GET] = admin_get,
	[MSG_LIST] = admin_list,
	[MSG_CREATE] = on_create,
	[MSG_CANCEL] = on_cancel,
	[MSG_OUTPUT_ACK] = on_output_ack,
	[MSG_HTTP_AUTH] = door_auth,
	[MSG_HTTP_HEALTH] = door_health,
	[MSG_HTTP_READY] = door_ready,
	[MSG_AGENT_EXEC] = agent_exec,
	[MSG_AGENT_PROFILES] = agent_profiles,
	[MSG_AGENT_ERRORS] = agent_errors,
	[MSG_AGENT_STATUS] = agent_status,
};

static const struct {
	deliver_fn *fn;  /* NULL: by its type */
	unsigned    who; /* may send it, but for relays */
} rooms[] = {
	[ROOM_BOXD] = { NULL, ID_NATIVE },
	[ROOM_DOOR] = { NULL, ID_STRANGER },
	[ROOM_LANGBOT] = { langbot_deliver, ID_NATIVE | ID_RPC },
	[ROOM_POOL] = { pool_deliver, ID_NATIVE },
	[ROOM_EGRESS] = { egress_deliver, ID_NATIVE },
	[ROOM_SESSION] = { to_named, ID_NATIVE },
	[ROOM_WORKER] = { to_named, ID_NATIVE },
	[ROOM_FILES] = { to_named, ID_NATIVE },
};

int
route(struct boxd *h, struct msg *m, struct err *e)
{
	const struct route *r = msg_route(m->type);
	deliver_fn         *fn = rooms[r->room].fn != NULL ? rooms[r->room].fn : own[m->type];

	if (fn == NULL)
		return err_set(e, E_PROTO, "%s is not for clients", msg_name(m->type));
	if (r->when & MAKES_WORK && h->stopping)
		return err_set(e, E_SHUTDOWN, "boxd is shutting down");
	return fn(h, m, e);
}

/* What is nobody's, route refuses. */
static bool
may_send(const struct identity *id, enum msg_type t)
{
	const struct route *r = msg_route(t);

	if (r->room == ROOM_NONE)
		return true;
	if (id->kind == ID_RELAY)
		return r->when & FOR_RELAYS;
	return rooms[r->room].who & id->kind && (id->kind != ID_NATIVE || msg_def(t)->from & FROM_CLIENT);
}

static const char *
name_of_kind(enum identity_kind k)
{
	return k == ID_STRANGER ? "a stranger"
	       : k == ID_RPC    ? "a client of /rpc/ws"
	       : k == ID_RELAY  ? "a relay"
				: "a client";
}

/* With the session's own name in the place of what the client calls it. */
static int
route_relay(struct boxd *h, const struct relay_right *right, struct msg *m, struct err *e)
{
	const struct field *session = field_named(m->type, "session"), *process = field_named(m->type, "process");
	union {
		struct msg_process_attach attach;
		struct msg_process_write  write;
	} body;

	if (session == NULL || process == NULL) /* it names a request of its own connection */
		return route(h, m, e);
	assert(msg_def(m->type)->size <= sizeof(body)); /* who makes another FOR_RELAYS adds it to the union */
	memcpy(&body, m->body, msg_def(m->type)->size);
	const char **name = (const char **)((char *)&body + session->offset);
	const char  *which = *(const char **)((char *)&body + process->offset);
	if (strcmp(*name, right->asked) != 0 || strcmp(*which != '\0' ? which : "default", right->process) != 0)
		return err_set(
		    e, E_DENIED, "this relay is for process %s of session %s only", right->process, right->asked);
	*name = right->session;
	m->body = &body;
	return route(h, m, e);
}

int
route_from(struct boxd *h, const struct identity *id, struct msg *m, struct err *e)
{
	if (!may_send(id, m->type))
		return err_set(e, E_DENIED, "%s is not for %s", msg_name(m->type), name_of_kind(id->kind));
	if (id->kind == ID_RELAY)
		return route_relay(h, id->relay, m, e);
	return route(h, m, e);
}
