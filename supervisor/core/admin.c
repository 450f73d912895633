#include "core/admin.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "children/gateway.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/registry.h"
#include "core/reply.h"
#include "auth/auth.h"

static uint64_t
uptime_ms(const struct boxd *h)
{
	return (uint64_t)((ev_time() - h->started) * 1e3);
}

int
admin_ping(struct boxd *h, const struct msg *m, struct err *e)
{
	struct msg_pong pong = { .version = BOXD_VERSION, .uptime_ms = uptime_ms(h) };

	reply_send(h, MSG_PONG, m->conn, m->id, &pong);
	return 0;
}

int
admin_status(struct boxd *h, const struct msg *m, struct err *e)
{
	struct msg_status_result s = {
		.version = BOXD_VERSION,
		.pid = (uint64_t)getpid(),
		.uptime_ms = uptime_ms(h),
		.sessions = registry_count(h->registry),
		.sessions_max = h->config->max_sessions,
		.spares = registry_spares(h->registry),
		.running = h->running,
		.execs = h->execs,
		.processes = h->processes,
		.processes_max = h->config->max_processes,
		.connections = gateway_connections(h->gateway),
		.worker_restarts = h->worker_restarts,
		.gateway_restarts = gateway_restarts(h->gateway),
		.isolation = h->machine->isolation,
		.state_dir = h->dirs->state,
		.runtime_dir = h->dirs->runtime,
		.http_address = auth_address(h->auth),
		.http_refused = auth_refused(h->auth),
		.token_file = auth_token_file(h->auth),
		.trusted_instance = auth_instance(h->auth),
		.stopping = h->stopping,
	};

	reply_send(h, MSG_STATUS_RESULT, m->conn, m->id, &s);
	return 0;
}

int
admin_get(struct boxd *h, const struct msg *m, struct err *e)
{
	const struct msg_get *get = m->body;
	struct session       *s = registry_find(h->registry, get->session);

	if (s == NULL)
		return err_set(e, E_NOTFOUND, "session %s not found", log_escape(get->session, strlen(get->session)));
	struct msg_session_info info = session_info(s);
	reply_send(h, MSG_SESSION_INFO, m->conn, m->id, &info);
	return 0;
}

static bool
add_to_list(struct session *s, void *arg)
{
	struct msg_session_list *l = arg;

	if (!session_is_spare(s))
		l->sessions.v[l->sessions.n++] = session_info(s);
	return true;
}

int
admin_list(struct boxd *h, const struct msg *m, struct err *e)
{
	struct msg_session_list l = { 0 };

	l.sessions.v = calloc(registry_count(h->registry) + 1, sizeof(*l.sessions.v));
	if (l.sessions.v == NULL)
		return err_set(e, E_SYS, "no memory for the list");
	registry_each(h->registry, add_to_list, &l);
	reply_send(h, MSG_SESSION_LIST, m->conn, m->id, &l);
	free(l.sessions.v);
	return 0;
}
