#include "agent/agent_impl.h"

#include <stdlib.h>
#include <string.h>

#include "agent/agent_result.h"
#include "core/errorring.h"
#include "core/registry.h"
#include "core/reply.h"
#include "core/share.h"
#include "wire/detail.h"

/* ---- the end of a call ---- */

static void
forget(struct agent_call *c)
{
	LIST_REMOVE(c, next);
	owned_msg_clear(&c->kept);
	owned_msg_clear(&c->result_kept);
	free(c);
}

static void
note(struct boxd *h, const struct msg_agent_exec *x, const struct err *e)
{
	const struct errorring_who who = { x->instance, x->workspace, x->query_id };

	errorring_add(h->errors, &who, e);
}

static void
fail(struct agent_call *c, const struct err *e)
{
	struct boxd *h = c->agent->boxd;

	note(h, &c->body, e);
	reply_fail(h, c->conn, c->id, e);
	forget(c);
}

static void
reply(struct agent_call *c, const struct msg_agent_result *r)
{
	reply_send(c->agent->boxd, MSG_AGENT_RESULT, c->conn, c->id, r);
	forget(c);
}

/* The session is gone now, or was before. */
static void
settle(struct agent_call *c)
{
	if (c->why.code != E_NONE)
		fail(c, &c->why);
	else
		reply(c, &c->result);
}

/* ---- texts ---- */

/* A quota error has the words of LangBot's own check, which names the agent's session and looks before and after a command. */
static struct err
in_langbots_words(const struct agent_call *c, const struct err *e)
{
	struct err mine = *e;

	err_strip(&mine);
	if (mine.reason == REASON_OUTGROWN)
		err_say(&mine, PART_WHEN, "after execution");
	if (mine.code == E_QUOTA)
		err_say(&mine, PART_SESSION, c->plan.session_id);
	return mine;
}

/* ---- steps ---- */

/* The answer may come, and end the call, before this returns. */
static void
step(struct agent_call *c, enum msg_type t, const void *body, ask_fn *fn)
{
	c->running = t == MSG_EXEC;
	ask_as(c->agent->boxd, &c->asked, t, body, fn, c);
}

static void
on_deleted(void *arg, const struct msg *m)
{
	settle(arg);
}

static void
end_session_first(struct agent_call *c)
{
	struct msg_delete ask = { .session = c->plan.session };

	step(c, MSG_DELETE, &ask, on_deleted);
}

/* The command left too much: the session ends, its result is dropped, the files stay. */
static void
withhold(struct agent_call *c, const struct msg_exec_result *x)
{
	struct err e;

	err_set(&e, E_QUOTA, "%s", x->error);
	detail_take(&e, &x->detail);
	c->why = in_langbots_words(c, &e);
	end_session_first(c);
}

/* LangBot takes a timeout for the end of the session, unless servers run in it. */
static bool
ends_session(const struct agent_call *c, const struct msg_exec_result *x)
{
	const struct session *s = registry_find(c->agent->boxd->registry, c->plan.session);

	return x->cause == CAUSE_TIMEOUT && s != NULL && session_info(s).processes == 0;
}

static void
finish(struct agent_call *c, const struct msg_exec_result *x)
{
	struct agent_output o = { 0 };
	struct err          e;

	if (agent_result(&c->result, &o, &c->plan, x, c->body.limit, &e) == -1 ||
	    owned_msg_copy(&c->result_kept, MSG_AGENT_RESULT, &c->result, &e) == -1)
		fail(c, &e);
	else if (ends_session(c, x))
		end_session_first(c);
	else
		reply(c, &c->result);
	agent_output_clear(&o);
}

/* A timeout, too, may have left too much. */
static bool
is_over_quota(const struct msg_exec_result *x)
{
	enum err_reason why = err_reason_of(x->detail.reason);

	return x->cause == CAUSE_DISK || why == REASON_OVER || why == REASON_OUTGROWN;
}

static void
on_executed(void *arg, const struct msg *m)
{
	struct agent_call            *c = arg;
	const struct msg_exec_result *x = m->body;

	if (m->failed) {
		struct err e = in_langbots_words(c, &m->error);

		fail(c, &e);
	} else if (is_over_quota(x)) {
		withhold(c, x);
	} else {
		finish(c, x);
	}
}

static void
execute(struct agent_call *c)
{
	struct msg_exec ask;

	msg_defaults(MSG_EXEC, &ask);
	ask.session = c->plan.session;
	ask.command = c->body.command;
	ask.env = c->body.env;
	ask.workdir = c->plan.workdir;
	ask.timeout_ms = c->plan.timeout_sec * 1000;
	ask.keep_bytes = MIB;
	step(c, MSG_EXEC, &ask, on_executed);
}

static void
on_created(void *arg, const struct msg *m)
{
	struct agent_call *c = arg;
	struct err         e;

	if (m->failed) {
		e = in_langbots_words(c, &m->error);
		fail(c, &e);
	} else if (c->cancelled) {
		err_set(&e, E_STATE, "cancelled before it was started");
		fail(c, &e);
	} else {
		execute(c);
	}
}

static void
create(struct agent_call *c)
{
	struct msg_create ask = { .session = c->plan.session, .spec = c->plan.spec };

	step(c, MSG_CREATE, &ask, on_created);
}

static void
on_gone(void *arg, const struct msg *m)
{
	create(arg);
}

/* If a session of that name is closing, after a timeout or for its quota, wait for its end and then create the next. */
static void
begin(struct agent_call *c)
{
	const struct session *s = registry_find(c->agent->boxd->registry, c->plan.session);
	struct msg_delete     wait = { .session = c->plan.session };

	if (s != NULL && session_info(s).state == STATE_CLOSING)
		step(c, MSG_DELETE, &wait, on_gone);
	else
		create(c);
}

/* ---- what clients ask ---- */

static struct agent_call *
call_open(struct agent *a, const struct msg *m, struct err *e)
{
	struct agent_call *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		err_set(e, E_SYS, "no memory for a command");
		return NULL;
	}
	c->agent = a;
	c->conn = m->conn;
	c->id = m->id;
	c->body = *(const struct msg_agent_exec *)m->body;
	LIST_INSERT_HEAD(&a->calls, c, next);
	if (owned_msg_copy(&c->kept, MSG_AGENT_EXEC, &c->body, e) == -1 ||
	    agent_plan(&c->plan, &a->rules, &c->body, e) == -1) {
		forget(c);
		return NULL;
	}
	return c;
}

/* A host's workspaces share its connection, and what that may have in flight. */
static int
check_share(const struct agent *a, const struct msg *m, struct err *e)
{
	const struct msg_agent_exec *x = m->body;
	const struct agent_call     *c;
	uint64_t                     have = 0;

	if (*x->workspace == '\0')
		return 0;
	LIST_FOREACH (c, &a->calls, next)
		have += c->conn == m->conn && strcmp(c->body.workspace, x->workspace) == 0 &&
			strcmp(c->body.instance, x->instance) == 0;
	return share_check(
	    a->boxd->config, have, LIM_CONN_INFLIGHT, E_BUSY, "Workspace is busy: too many concurrent commands", e);
}

int
agent_exec(struct boxd *h, const struct msg *m, struct err *e)
{
	struct agent_call *c = NULL;

	if (!h->config->agent_enabled)
		err_set(e, E_BACKEND, "Box runtime is disabled in config (agent.enabled = no)");
	else if (check_share(h->agent, m, e) == 0)
		c = call_open(h->agent, m, e);
	if (c == NULL) {
		note(h, m->body, e);
		return -1;
	}
	begin(c);
	return 0;
}

bool
agent_cancel(struct agent *a, const struct msg *m)
{
	uint64_t           call = ((const struct msg_cancel *)m->body)->call;
	struct agent_call *c;

	LIST_FOREACH (c, &a->calls, next)
		if (c->conn == m->conn && c->id == call)
			break;
	if (c == NULL)
		return false;
	c->cancelled = true;
	if (c->running && c->asked != 0)
		ask_cancel(a->boxd, c->asked);
	reply_send(a->boxd, MSG_DONE, m->conn, m->id, &(struct msg_done){});
	return true;
}

void
agent_conn_gone(struct agent *a, uint64_t conn)
{
	struct agent_call *c = a != NULL ? LIST_FIRST(&a->calls) : NULL, *next;

	for (; c != NULL; c = next) {
		next = LIST_NEXT(c, next);
		if (conn != 0 && c->conn != conn)
			continue;
		ask_drop(a->boxd, c->asked);
		forget(c);
	}
}

/* ---- open and close ---- */

/* Symlinks are resolved now: one that is changed later moves no root. */
static int
add_root(struct strs *roots, const char *path, struct err *e)
{
	const char **v = realloc(roots->v, (roots->n + 2) * sizeof(*v));
	char        *real = realpath(path, NULL);

	if (v != NULL)
		roots->v = v;
	if (real == NULL)
		real = strdup(path);
	if (v == NULL || real == NULL) {
		free(real);
		return err_set(e, E_SYS, "no memory");
	}
	v[roots->n++] = real;
	v[roots->n] = NULL;
	return 0;
}

struct agent *
agent_open(struct boxd *h, struct err *e)
{
	struct agent *a = calloc(1, sizeof(*a));
	const char   *list = h->config->agent_mount_roots;
	char          path[LIM_PATH + 1];

	if (a == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	a->boxd = h;
	a->rules.config = h->config;
	LIST_INIT(&a->calls);
	while (config_next_path(&list, path)) {
		int r = a->rules.roots.n < LIM_MOUNTS
			    ? add_root(&a->rules.roots, path, e)
			    : err_set(e, E_INVALID, "agent.mount_roots: more than %d paths", LIM_MOUNTS);

		if (r == -1) {
			agent_close(&a);
			return NULL;
		}
	}
	return a;
}

void
agent_close(struct agent **ap)
{
	struct agent *a = *ap;

	if (a == NULL)
		return;
	*ap = NULL;
	while (!LIST_EMPTY(&a->calls))
		forget(LIST_FIRST(&a->calls));
	for (size_t i = 0; i < a->rules.roots.n; i++)
		free((char *)a->rules.roots.v[i]);
	free(a->rules.roots.v);
	free(a);
}
