/*
 * Every action passes here, in this order: is there a context, is it of the trusted instance, [admission], the
 * fence, [sessions of other generations are gone], and then its own file.
 *
 * An action is cancelled by BOX_CANCEL, when its generation is over, or when its client leaves; but a command that
 * was started then runs on, and its result is dropped.  A cancelled action has no steps left; a session that was being
 * made for it exists already, and is retired with the others.
 */
#include "langbot/langbot.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "children/gateway.h"
#include "core/journal.h"
#include "core/share.h"
#include "auth/auth.h"
#include "langbot/langbot_impl.h"
#include "langbot/readiness.h"

static void on_advance(void *arg, const struct msg_context *);

struct langbot *
langbot_open(struct boxd *h, struct err *e)
{
	struct langbot *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	l->boxd = h;
	TAILQ_INIT(&l->actions);
	msg_defaults(MSG_BOX_INIT, &l->init);
	msg_defaults(MSG_STORE_READY, &l->paths);
	if (langbot_restore(l, e) == -1) {
		langbot_close(&l);
		return NULL;
	}
	tenancy_on_advance(h->tenancy, on_advance, l);
	return l;
}

void
langbot_close(struct langbot **lp)
{
	struct langbot *l = *lp;

	if (l == NULL)
		return;
	*lp = NULL;
	while (!TAILQ_EMPTY(&l->actions)) {
		TAILQ_FIRST(&l->actions)->asked = 0; /* the asks are closed already */
		action_free(TAILQ_FIRST(&l->actions));
	}
	sweeps_close(l);
	journal_close(&l->journal);
	owned_msg_clear(&l->init_kept);
	owned_msg_clear(&l->paths_kept);
	free(l);
}

/* ---- who asks ------------------------------------------------------------------------------------------------ */

static bool
is_empty(const struct msg_context *c)
{
	return *c->instance == '\0' && *c->workspace == '\0' && c->generation == 0;
}

static int
check_context(struct action *a, bool needed, struct err *e)
{
	const char *pinned = auth_instance(a->langbot->boxd->auth);

	if (is_empty(&a->context) && a->langbot->boxd->config->legacy_clients) {
		auth_legacy_context(&a->context);
		return 0;
	}
	if (is_empty(&a->context) && !needed)
		return 0;
	if (is_empty(&a->context))
		return err_set(e, E_DENIED, "Box tenant action requires a trusted Workspace context");
	if (*a->context.instance == '\0' || *a->context.workspace == '\0' || a->context.generation == 0)
		return err_set(e, E_INVALID, "context: instance, workspace and generation (from 1) belong together");
	if (*pinned != '\0' && strcmp(pinned, a->context.instance) != 0)
		return err_set(e, E_DENIED, "Box action context does not match the trusted instance");
	return 0;
}

/* ---- what is asked ------------------------------------------------------------------------------------------- */

enum standing { HOST, TENANT, SANDBOX }; /* the last ones need a grant, when grants are needed */

/* clang-format off */
static const struct {
	void (*run)(struct action *);
	enum standing kind;
} on[MSG__COUNT] = {
	[MSG_BOX_INVALID] = { action_done, TENANT },
#define ACTION(wire, N, whose, when, handler, reader, shaper) [MSG_##N] = { handler, whose },
#include "messages/messages.def"
};
/* clang-format on */

static void
run(struct action *a, const struct msg *reply)
{
	on[a->type].run(a);
}

static void
pass_fence(struct action *a)
{
	struct err e;

	if (tenancy_observe(a->langbot->boxd->tenancy, &a->context, &e) == -1)
		action_fail(a, &e);
	else
		action_retire_others(a, run);
}

static void
on_readiness(struct action *a, const struct msg *reply)
{
	struct err e = reply->error;

	if (reply->failed || readiness_refusal(reply->body, &e) == -1 ||
	    admission_check(a->langbot->boxd->admission, &a->context, &e) == -1)
		action_fail(a, &e);
	else
		pass_fence(a);
}

static void
begin(struct action *a)
{
	struct boxd *h = a->langbot->boxd;

	if (on[a->type].kind == HOST) {
		run(a, NULL);
	} else if (on[a->type].kind == SANDBOX && admission_enforced(h->admission)) {
		action_ask_readiness(a, on_readiness);
	} else {
		pass_fence(a);
	}
}

/* The host's own actions count in no workspace's share, and a cancel must get through when the share is used up. */
static bool
is_shared(const struct action *a)
{
	return on[a->type].kind != HOST && a->type != MSG_BOX_CANCEL;
}

/* All workspaces of a LangBot share one connection, and what it may have in flight. */
static int
check_share(const struct action *a, struct err *e)
{
	const struct action *other;
	uint64_t             have = 0;

	if (!is_shared(a))
		return 0;
	TAILQ_FOREACH (other, &a->langbot->actions, next)
		have += other != a && other->conn == a->conn && is_shared(other) &&
			context_same_workspace(&other->context, &a->context);
	return share_check(a->langbot->boxd->config, have, LIM_CONN_INFLIGHT, E_BUSY,
	    "Workspace is busy: too many concurrent actions", e);
}

static int
check_commands(const struct action *a, struct err *e)
{
	if (a->long_bytes == 0 || a->langbot->long_bytes <= LIM_COMMANDS)
		return 0;
	return err_set(
	    e, E_BUSY, "Box runtime is busy: long commands that wait or run have %lu MiB together", LIM_COMMANDS / MIB);
}

/* Admission answers these itself; only their context was checked here. */
static void
deliver_grant(struct action *a, int (*to)(struct boxd *, const struct msg *, struct err *))
{
	struct msg m = { .type = a->type, .conn = a->conn, .id = a->id, .body = a->body };
	struct err e;

	if (to(a->langbot->boxd, &m, &e) == -1)
		action_fail(a, &e);
	else
		action_free(a);
}

void
on_box_upsert_grant(struct action *a)
{
	deliver_grant(a, admission_upsert);
}

void
on_box_revoke_grant(struct action *a)
{
	deliver_grant(a, admission_revoke);
}

int
langbot_deliver(struct boxd *h, const struct msg *m, struct err *e)
{
	struct action *a;

	if (on[m->type].run == NULL)
		return err_set(e, E_PROTO, "%s is not served", msg_name(m->type));
	if ((a = action_open(h->langbot, m, e)) == NULL)
		return -1;
	if (check_context(a, on[m->type].kind != HOST, e) == -1 || check_share(a, e) == -1 ||
	    check_commands(a, e) == -1) {
		action_free(a);
		return -1;
	}
	begin(a);
	return 0;
}

/* ---- cancelling --------------------------------------------------------------------------------------------- */

/* A command that was started runs to its end or timeout; one that still waits for its session is dropped. */
static bool
is_finished_anyway(const struct action *a)
{
	return a->type == MSG_BOX_INIT || a->type == MSG_BOX_SHUTDOWN || exec_is_started(a);
}

void
langbot_conn_gone(struct langbot *l, uint64_t conn)
{
	struct action *a = TAILQ_FIRST(&l->actions), *next;

	for (; a != NULL; a = next) {
		next = TAILQ_NEXT(a, next);
		if (conn != 0 && a->conn != conn)
			continue;
		if (is_finished_anyway(a))
			a->conn = 0;
		else
			action_free(a);
	}
}

static struct action *
find_cancelled(const struct action *by)
{
	uint64_t       call = ((const struct msg_box_cancel *)by->body)->call;
	struct action *a;

	TAILQ_FOREACH (a, &by->langbot->actions, next)
		if (a != by && a->conn == by->conn && a->id == call && on[a->type].kind != HOST &&
		    a->context.generation == by->context.generation &&
		    context_same_workspace(&a->context, &by->context))
			return a;
	return NULL;
}

void
on_box_cancel(struct action *a)
{
	struct action           *found = find_cancelled(a);
	struct msg_box_cancelled r = { .cancelled = found != NULL };

	if (found != NULL)
		action_free(found); /* without a reply */
	action_reply(a, MSG_BOX_CANCELLED, &r);
}

/* Actions of an older generation fail at once: they need not wait for their timeouts. */
static void
on_advance(void *arg, const struct msg_context *c)
{
	struct langbot *l = arg;
	struct action  *a = TAILQ_FIRST(&l->actions), *next;
	struct err      e;

	tenancy_stale(&e);
	for (; a != NULL; a = next) {
		next = TAILQ_NEXT(a, next);
		if (on[a->type].kind != HOST && a->context.generation < c->generation &&
		    context_same_workspace(&a->context, c))
			action_fail(a, &e);
	}
}

/* ---- looking at it -------------------------------------------------------------------------------------------- */

const char *
langbot_backend(const struct langbot *l)
{
	const char *asked = l->init.backend;

	if (strcmp(asked, "nsjail") == 0 || strcmp(asked, "host") == 0)
		return asked;
	if (*asked != '\0' && strcmp(asked, "local") != 0 && strcmp(asked, "native") != 0)
		return "";
	return admission_enforced(l->boxd->admission) ? "nsjail" : "native";
}

const struct msg_box_limits *
langbot_limits(const struct langbot *l)
{
	return &l->init.limits;
}

const struct msg_store_ready *
langbot_paths(const struct langbot *l)
{
	return &l->paths;
}
