/*
 * A stranger asks to come in.  An attempt lives from its HTTP_AUTH to its answer, which may have to wait: for the
 * machine's readiness, for the session of a managed process, or because its address has failed before.  The
 * reason of a refusal is only logged: the client reads "Unauthorized".
 *
 * Answers to what an attempt asked may come before the asking function returns, so nothing is done with it after that.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "children/gateway.h"
#include "core/ask.h"
#include "core/registry.h"
#include "core/reply.h"
#include "auth/auth_impl.h"
#include "auth/identity.h"
#include "langbot/admission.h"
#include "langbot/readiness.h"
#include "langbot/tenancy.h"

enum { WORKSPACE_CHARS = 256 };

struct attempt {
	LIST_ENTRY(attempt) next;
	struct auth       *auth;
	uint64_t           conn, id;
	struct address     peer;
	uint64_t           asked; /* request of ours under way; 0: none */
	struct err         why;   /* of a refusal that waits */
	ev_timer           slow;  /* runs while it does */
	char               instance[LIM_TENANT + 1];
	char               workspace[LIM_TENANT + 1];
	uint64_t           generation;
	struct relay_right right;
};

/* ---- their life ----------------------------------------------------------------------------------- */

static void
attempt_free(struct attempt *a)
{
	LIST_REMOVE(a, next);
	free(a);
}

static void
finish(struct attempt *a)
{
	struct auth     *auth = a->auth;
	struct identity *id = gateway_client(auth->boxd->gateway, a->conn);

	assert(a->asked == 0);
	ev_timer_stop(auth->boxd->loop, &a->slow);
	if (id != NULL)
		id->asking = false;
	attempt_free(a);
}

static void
fail(struct attempt *a, const struct err *why)
{
	reply_fail(a->auth->boxd, a->conn, a->id, why);
	finish(a);
}

static void
on_slow(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct attempt *a = t->data;

	fail(a, &a->why);
}

static struct attempt *
attempt_open(struct auth *auth, const struct msg *m, struct err *e)
{
	struct identity *id = gateway_client(auth->boxd->gateway, m->conn);
	struct attempt  *a = NULL;

	if (id == NULL || id->kind != ID_STRANGER || id->asking)
		err_set(e, E_PROTO, "connection %lu has asked already", m->conn);
	else if ((a = calloc(1, sizeof(*a))) == NULL)
		err_set(e, E_SYS, "no memory");
	if (a == NULL)
		return NULL;
	id->asking = true;
	a->auth = auth;
	a->conn = m->conn;
	a->id = m->id;
	a->peer = id->peer;
	ev_timer_init(&a->slow, on_slow, 0., 0.);
	a->slow.data = a;
	LIST_INSERT_HEAD(&auth->attempts, a, next);
	return a;
}

void
attempts_clear(struct attempts *all)
{
	struct attempt *a;

	while ((a = LIST_FIRST(all)) != NULL) {
		ev_timer_stop(a->auth->boxd->loop, &a->slow);
		attempt_free(a);
	}
}

void
auth_conn_gone(struct auth *auth, uint64_t conn)
{
	struct attempt *a, *next;

	for (a = LIST_FIRST(&auth->attempts); a != NULL; a = next) {
		next = LIST_NEXT(a, next);
		if (conn != 0 && a->conn != conn)
			continue;
		ask_drop(auth->boxd, a->asked);
		a->asked = 0;
		finish(a);
	}
}

/* ---- refusals ------------------------------------------------------------------------------------- */

static void
say_refused(struct attempt *a, const char *reason)
{
	struct auth     *auth = a->auth;
	struct identity *id = gateway_client(auth->boxd->gateway, a->conn);
	char             from[ADDRESS_TEXT] = "";

	auth->refused++;
	if (tally_line(&auth->refusals, reason))
		log_warn("conn=%lu from=%s refused reason=\"%s\"", a->conn, id != NULL ? identity_peer(id, from) : "",
		    reason);
}

/* 401 at once: the client had the token. */
static void
refuse(struct attempt *a, const char *reason)
{
	say_refused(a, reason);
	fail(a, &(struct err){ .code = E_UNAUTHORIZED, .text = "Unauthorized" });
}

/* 401, later each time. */
static void
refuse_slowly(struct attempt *a, const char *reason)
{
	struct auth *auth = a->auth;
	double       delay = slow_failed(&auth->slow, &a->peer, ev_now(auth->boxd->loop));

	say_refused(a, reason);
	err_set(&a->why, E_UNAUTHORIZED, "Unauthorized");
	ev_timer_set(&a->slow, delay, 0.);
	ev_timer_start(auth->boxd->loop, &a->slow);
}

/* ---- who it is ------------------------------------------------------------------------------------ */

static bool
has_token(struct auth *auth, const struct identity *id, const char *token)
{
	return id->vouched || config_trusts_everybody(auth->boxd->config) || token_matches(&auth->token, token);
}

static bool
is_legacy(const struct auth *auth, const struct msg_http_auth *m)
{
	return auth->boxd->config->legacy_clients && *m->instance == '\0' && *m->workspace == '\0';
}

static void
welcome(struct attempt *a, const char *what)
{
	struct msg_done done;

	log_info("conn=%lu %s instance=%s", a->conn, what, log_escape(a->instance, strlen(a->instance)));
	reply_send(a->auth->boxd, MSG_DONE, a->conn, a->id, &done);
	finish(a);
}

static void
admit_rpc(struct attempt *a, bool legacy)
{
	if (!legacy && !auth_trust(a->auth, a->instance)) {
		refuse_slowly(a, "another instance is trusted");
		return;
	}
	gateway_client_is_rpc(a->auth->boxd->gateway, a->conn);
	welcome(a, "rpc");
}

/* ---- a relay, in the order in which LangBot's own runtime checks it --------------------------------- */

static struct msg_context
context_of(const struct attempt *a)
{
	return (struct msg_context){ a->instance, a->workspace, a->generation };
}

static void
become_relay(struct attempt *a)
{
	struct identity *id = gateway_client(a->auth->boxd->gateway, a->conn);
	struct err       e = { 0 };

	if (id == NULL)
		finish(a); /* the client has left */
	else if (identity_becomes_relay(id, &a->right, &e) == -1)
		fail(a, &e);
	else
		welcome(a, "relay");
}

/* The session may have gone meanwhile; otherwise the process is missing. */
static void
tell_missing(struct attempt *a, const struct err *why)
{
	struct err e = *why;

	if (why->code != E_NOTFOUND && why->code != E_NOPROCESS)
		err_prefix(&e, "session %s", a->right.asked);
	else if (registry_find(a->auth->boxd->registry, a->right.session) == NULL)
		err_set(&e, E_NOTFOUND, "session %s not found", a->right.asked);
	else
		err_set(&e, E_NOPROCESS, "session %s has no managed process with process_id=%s", a->right.asked,
		    a->right.process);
	fail(a, &e);
}

static void
on_process(void *arg, const struct msg *reply)
{
	struct attempt                *a = arg;
	const struct msg_process_info *info = reply->body;
	struct err                     e;

	a->asked = 0;
	if (reply->failed) {
		tell_missing(a, &reply->error);
		return;
	}
	if (info->state == PROCESS_EXITED || info->state == PROCESS_FAILED) {
		err_set(&e, E_NOTRUNNING, "managed process %s in session %s is not running", a->right.process,
		    a->right.asked);
		fail(a, &e);
		return;
	}
	become_relay(a);
}

static void
find_process(struct attempt *a)
{
	struct boxd           *h = a->auth->boxd;
	struct msg_process_get ask_for;
	struct err             e = { 0 };

	if (registry_find(h->registry, a->right.session) == NULL) {
		err_set(&e, E_NOTFOUND, "session %s not found", a->right.asked);
		fail(a, &e);
		return;
	}
	msg_defaults(MSG_PROCESS_GET, &ask_for);
	ask_for.session = a->right.session;
	ask_for.process = a->right.process;
	ask_as(h, &a->asked, MSG_PROCESS_GET, &ask_for, on_process, a);
}

/* The session must be of the workspace that was named. */
static void
find_session(struct attempt *a)
{
	struct msg_context c = context_of(a);

	if (tenancy_logical(&c, a->right.session) == NULL)
		refuse(a, "the session is not of that workspace");
	else
		find_process(a);
}

static int
check_grant(struct attempt *a, const struct msg *readiness, struct err *e)
{
	struct admission  *admission = a->auth->boxd->admission;
	struct msg_context c = context_of(a);

	if (readiness->failed) {
		*e = readiness->error;
		return -1;
	}
	if (readiness_refusal(readiness->body, e) == -1 || admission_check(admission, &c, e) == -1)
		return -1;
	if (admission_policy(admission)->max_managed_processes == 0)
		return err_set(e, E_ADMISSION, "Sandbox admission grant does not permit managed process relay");
	return 0;
}

static void
on_readiness(void *arg, const struct msg *reply)
{
	struct attempt *a = arg;
	struct err      e = { 0 };

	a->asked = 0;
	if (check_grant(a, reply, &e) == -1)
		fail(a, &e);
	else
		find_session(a);
}

static void
ask_readiness(struct attempt *a, ask_fn *fn)
{
	struct boxd *h = a->auth->boxd;
	struct err   e;

	assert(a->asked == 0); /* an attempt waits for one answer at most */
	a->asked = ask_open(h, MSG_NONE, fn, a, &e);
	if (a->asked == 0)
		fail(a, &e);
	else
		readiness_ask(h, CONN_OWN, a->asked);
}

static void
check_admission(struct attempt *a)
{
	if (!admission_enforced(a->auth->boxd->admission))
		find_session(a);
	else
		ask_readiness(a, on_readiness);
}

static size_t
characters(const char *utf8)
{
	size_t n = 0;

	for (; *utf8 != '\0'; utf8++)
		n += (*utf8 & 0xc0) != 0x80;
	return n;
}

static void
admit_relay(struct attempt *a)
{
	struct auth       *auth = a->auth;
	struct msg_context c = context_of(a);

	if (*auth->instance == '\0')
		refuse(a, "no instance is trusted yet");
	else if (strcmp(a->instance, auth->instance) != 0)
		refuse_slowly(a, "another instance is trusted");
	else if (*a->workspace == '\0' || characters(a->workspace) > WORKSPACE_CHARS)
		refuse(a, "no workspace, or one of over 256 characters");
	else if (a->generation == 0)
		refuse(a, "no generation");
	else if (!tenancy_is_current(auth->boxd->tenancy, &c))
		refuse(a, "not the workspace's present generation");
	else
		check_admission(a);
}

static void
admit_legacy_relay(struct attempt *a)
{
	struct msg_context c;
	struct err         e;

	auth_legacy_context(&c);
	snprintf(a->instance, sizeof(a->instance), "%s", c.instance);
	snprintf(a->workspace, sizeof(a->workspace), "%s", c.workspace);
	a->generation = c.generation;
	if (tenancy_physical(&c, a->right.asked, a->right.session, &e) == -1)
		fail(a, &e);
	else
		check_admission(a);
}

/* ---- HTTP_AUTH --------------------------------------------------------------------------------------- */

static void
attempt_fill(struct attempt *a, const struct msg_http_auth *m)
{
	snprintf(a->instance, sizeof(a->instance), "%s", m->instance);
	snprintf(a->workspace, sizeof(a->workspace), "%s", m->workspace);
	a->generation = m->generation;
	snprintf(a->right.asked, sizeof(a->right.asked), "%s", m->session);
	snprintf(a->right.session, sizeof(a->right.session), "%s", m->session);
	snprintf(a->right.process, sizeof(a->right.process), "%s", *m->process != '\0' ? m->process : "default");
}

static void
judge(struct attempt *a, const struct identity *id, const struct msg_http_auth *m)
{
	bool legacy = is_legacy(a->auth, m);

	if (!has_token(a->auth, id, m->token))
		refuse_slowly(a, *m->token != '\0' ? "wrong token" : "no token");
	else if (!legacy && !instance_is_valid(m->instance))
		refuse_slowly(a, *m->instance != '\0' ? "bad instance id" : "no instance id");
	else if (m->use == HTTP_USE_RPC)
		admit_rpc(a, legacy);
	else if (legacy)
		admit_legacy_relay(a);
	else
		admit_relay(a);
}

int
http_auth(struct boxd *h, const struct msg *m, struct err *e)
{
	struct attempt *a = attempt_open(h->auth, m, e);

	if (a == NULL)
		return -1;
	attempt_fill(a, m->body);
	judge(a, gateway_client(h->gateway, m->conn), m->body);
	return 0;
}

/* ---- what anybody may ask ---------------------------------------------------------------------------- */

int
http_health(struct boxd *h, const struct msg *m, struct err *e)
{
	struct group_sum             all = registry_sum(h->registry, GROUP_ALL);
	struct msg_box_health_result r = {
		.managed_processes = h->processes,
		.running = h->running,
		.sessions = all.n[SESSIONS],
		.starting = all.n[STARTING_SESSIONS],
		.closing = all.n[SESSIONS] - all.n[OPEN_SESSIONS],
		.completed_processes = all.n[ENDED_PROCESSES],
	};

	reply_send(h, MSG_BOX_HEALTH_RESULT, m->conn, m->id, &r);
	return 0;
}

static void
on_ready(void *arg, const struct msg *reply)
{
	struct attempt *a = arg;

	a->asked = 0;
	if (reply->failed) {
		fail(a, &reply->error);
		return;
	}
	reply_send(a->auth->boxd, MSG_READINESS, a->conn, a->id, reply->body);
	finish(a);
}

int
http_ready(struct boxd *h, const struct msg *m, struct err *e)
{
	struct attempt *a = attempt_open(h->auth, m, e);

	if (a == NULL)
		return -1;
	ask_readiness(a, on_ready);
	return 0;
}
