/* The life of an action, and what it asks. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "children/store.h"
#include "core/registry.h"
#include "core/reply.h"
#include "langbot/langbot_impl.h"
#include "langbot/readiness.h"

static void
count_command(struct action *a)
{
	size_t n = a->type == MSG_BOX_EXEC ? strlen(((const struct msg_box_exec *)a->body)->spec.cmd) : 0;

	a->long_bytes = n > LIM_ARG ? n : 0;
	a->langbot->long_bytes += a->long_bytes;
}

struct action *
action_open(struct langbot *l, const struct msg *m, struct err *e)
{
	struct action *a = calloc(1, sizeof(*a));
	size_t         size = msg_def(m->type)->size;
	void          *body = malloc(size);
	int            r = -1;

	if (a == NULL || body == NULL) {
		err_set(e, E_SYS, "no memory for a request");
	} else {
		memcpy(body, m->body, size);
		r = owned_msg_copy(&a->kept, m->type, body, e);
	}
	free(body);
	if (r == -1) {
		free(a);
		return NULL;
	}
	a->langbot = l;
	a->type = m->type;
	a->conn = m->conn;
	a->id = m->id;
	a->body = a->kept.msg.body;
	a->context = *(const struct msg_context *)a->body; /* the first field of them all */
	count_command(a);
	TAILQ_INSERT_TAIL(&l->actions, a, next);
	return a;
}

void
action_free(struct action *a)
{
	TAILQ_REMOVE(&a->langbot->actions, a, next);
	assert(a->langbot->long_bytes >= a->long_bytes);
	a->langbot->long_bytes -= a->long_bytes;
	ask_drop(a->langbot->boxd, a->asked); /* an answer that still comes is dropped */
	if (a->request != NULL)
		session_request_free(a->request);
	processes_free(a->processes);
	storage_free(a->storage);
	owned_msg_clear(&a->kept);
	free(a);
}

/* ---- its end ---------------------------------------------------------------------------- */

void
action_reply(struct action *a, enum msg_type t, const void *body)
{
	reply_send(a->langbot->boxd, t, a->conn, a->id, body);
	action_free(a);
}

void
action_done(struct action *a)
{
	action_reply(a, MSG_DONE, &(struct msg_done){});
}

void
action_use_logical(const struct action *a, struct err *e)
{
	const char *logical = action_logical(a);
	bool        failed = e->context > 0;

	err_strip(e);
	if (e->reason == REASON_PAUSED)
		err_set(e, E_STATE, "session %s is paused; boxctl resume %s", logical, logical);
	err_say(e, PART_SESSION, logical);
	if (failed)
		err_prefix(e, "session %s failed", logical);
}

void
action_fail(struct action *a, const struct err *why)
{
	struct err e = *why;

	if (e.code == E_VALUE && (a->type == MSG_BOX_EXEC || a->type == MSG_BOX_CREATE))
		e.code = E_INVALID; /* upstream says so of these two */
	action_use_logical(a, &e);
	if (e.code == E_ARTIFACT)
		err_prefix(&e, "Immutable artifact preparation failed");
	reply_fail(a->langbot->boxd, a->conn, a->id, &e);
	action_free(a);
}

/* ---- questions ---------------------------------------------------------------------------- */

static void
on_answer(void *arg, const struct msg *reply)
{
	struct action *a = arg;

	a->asked = 0;
	a->step(a, reply);
}

uint64_t
action_wait(struct action *a, step_fn *fn)
{
	struct err e;

	assert(a->asked == 0); /* an action waits for one answer at most */
	a->step = fn;
	a->asked = ask_open(a->langbot->boxd, MSG_NONE, on_answer, a, &e);
	if (a->asked != 0)
		return a->asked;
	action_fail(a, &e);
	return 0;
}

void
action_ask(struct action *a, enum msg_type t, const void *body, step_fn *fn)
{
	assert(a->asked == 0);
	a->step = fn;
	ask_as(a->langbot->boxd, &a->asked, t, body, on_answer, a);
}

void
action_ask_store(struct action *a, enum msg_type t, const void *body, step_fn *fn)
{
	struct boxd *h = a->langbot->boxd;
	uint64_t     id = action_wait(a, fn);
	struct err   e;

	if (id != 0 && store_send(h->store, id, t, body, &e) == -1)
		reply_fail(h, CONN_OWN, id, &e);
}

void
action_ask_readiness(struct action *a, step_fn *fn)
{
	struct boxd *h = a->langbot->boxd;
	uint64_t     id = action_wait(a, fn);

	if (id != 0)
		readiness_ask(h, CONN_OWN, id);
}

/* ---- whose it is ------------------------------------------------------------------------------ */

bool
context_same_workspace(const struct msg_context *a, const struct msg_context *b)
{
	return strcmp(a->workspace, b->workspace) == 0 && strcmp(a->instance, b->instance) == 0;
}

/* ---- the session it is about --------------------------------------------------------------- */

const char *
action_logical(const struct action *a)
{
	const char *logical = tenancy_logical(&a->context, a->name);

	return logical == NULL ? "" : logical;
}

int
action_name(struct action *a, const char *logical, struct err *e)
{
	if (admission_enforced(a->langbot->boxd->admission) && strcmp(logical, "global") != 0)
		return err_set(e, E_ADMISSION, "Managed sandbox session_id is runtime-owned");
	return tenancy_physical(&a->context, logical, a->name, e);
}

struct session *
action_session(const struct action *a, struct err *e)
{
	struct session *s = registry_find(a->langbot->boxd->registry, a->name);

	if (s == NULL) {
		err_set(e, E_NOTFOUND, "session %s not found", action_logical(a));
		return NULL;
	}
	if (session_is_closing(s)) {
		err_set(e, E_NOTFOUND, "session %s is being deleted", action_logical(a));
		return NULL;
	}
	return s;
}
