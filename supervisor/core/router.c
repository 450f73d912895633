#include "core/router.h"

#include <assert.h>
#include <string.h>

#include "agent/agent.h"
#include "base/log.h"
#include "children/egress.h"
#include "children/pool.h"
#include "core/admin.h"
#include "core/create.h"
#include "core/registry.h"
#include "auth/auth.h"
#include "auth/identity.h"
#include "langbot/langbot.h"
#include "wire/route.h"

static int
to_session(struct boxd *h, const char *name, const struct msg *m, struct err *e)
{
	struct session *s = registry_find(h->registry, name);

	if (s == NULL)
		return err_session(e, E_NOTFOUND, "session %s not found", log_escape(name, strlen(name)));
	return session_deliver(s, m, e);
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
	[MSG_CREATE] = create_deliver,
	[MSG_CANCEL] = on_cancel,
	[MSG_OUTPUT_ACK] = on_output_ack,
	[MSG_HTTP_AUTH] = http_auth,
	[MSG_HTTP_HEALTH] = http_health,
	[MSG_HTTP_READY] = http_ready,
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
	[ROOM_AUTH] = { NULL, ID_STRANGER },
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
