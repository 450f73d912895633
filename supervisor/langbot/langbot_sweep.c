/* Ending sessions, one or many, and waiting until nothing is left of them. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/registry.h"
#include "core/reply.h"
#include "langbot/langbot_impl.h"

struct sweep {
	LIST_ENTRY(sweep) next;
	struct boxd *boxd;
	size_t       left; /* sessions that are not gone yet, and one while they are being asked */
	uint64_t     id;   /* of the call that waits for their end */
};

static void
one_less(struct sweep *s)
{
	struct boxd *h = s->boxd;
	uint64_t     id = s->id;

	if (--s->left > 0)
		return;
	LIST_REMOVE(s, next);
	free(s);
	reply_send(h, MSG_DONE, CONN_OWN, id, &(struct msg_done){});
}

/* Whatever the answer is, it is gone, or boxd cannot do more about it. */
static void
on_deleted(void *arg, const struct msg *reply)
{
	if (reply->failed && reply->error.code != E_NOTFOUND)
		log_warn("a session that should end: %s", reply->error.text);
	one_less(arg);
}

struct names {
	bool (*want)(const char *, const void *);
	const void *arg;
	char      **v;
	size_t      n;
};

static bool
collect(struct session *s, void *arg)
{
	struct names *names = arg;
	const char   *name = session_name(s);

	if (!tenancy_is_ours(name) || !names->want(name, names->arg))
		return true;
	char **more = realloc(names->v, (names->n + 1) * sizeof(*more));
	char  *copy = strdup(name);
	if (more == NULL || copy == NULL)
		abort(); /* to leave one standing would be worse */
	names->v = more;
	names->v[names->n++] = copy;
	return true;
}

/* End all sessions of LangBot's that want() says, and answer that call when the last is gone, perhaps at once. */
static void
sweep(struct langbot *l, bool (*want)(const char *, const void *), const void *want_arg, uint64_t id)
{
	struct names names = { .want = want, .arg = want_arg };
	struct err   e;

	registry_each(l->boxd->registry, collect, &names);
	if (names.n == 0) {
		reply_send(l->boxd, MSG_DONE, CONN_OWN, id, &(struct msg_done){});
		return;
	}
	struct sweep *s = calloc(1, sizeof(*s));
	if (s == NULL)
		abort();
	*s = (struct sweep){ .boxd = l->boxd, .left = names.n + 1, .id = id };
	LIST_INSERT_HEAD(&l->sweeps, s, next);
	for (size_t i = 0; i < names.n; i++) {
		struct msg_delete d = { .session = names.v[i] };

		if (ask(l->boxd, MSG_DELETE, &d, on_deleted, s, &e) == 0)
			one_less(s); /* it went meanwhile */
		free(names.v[i]);
	}
	free(names.v);
	one_less(s);
}

void
sweeps_close(struct langbot *l)
{
	struct sweep *s;

	while ((s = LIST_FIRST(&l->sweeps)) != NULL) {
		LIST_REMOVE(s, next);
		free(s);
	}
}

/* ---- whose sessions ------------------------------------------------------------------------- */

static void
sweep_and_go_on(struct action *a, bool (*want)(const char *, const void *), const void *arg, step_fn *fn)
{
	struct langbot *l = a->langbot;
	uint64_t        id = action_wait(a, fn);

	if (id != 0)
		sweep(l, want, arg, id);
}

static bool
is_of_another_generation(const char *name, const void *arg)
{
	return tenancy_owns(arg, name) && tenancy_logical(arg, name) == NULL;
}

void
action_retire_others(struct action *a, step_fn *fn)
{
	sweep_and_go_on(a, is_of_another_generation, &a->context, fn);
}

static bool
has_name(const char *name, const void *arg)
{
	return strcmp(name, arg) == 0;
}

void
action_end_session(struct action *a, step_fn *fn)
{
	sweep_and_go_on(a, has_name, a->name, fn);
}

struct sweep_filter {
	const struct msg_context *context;
	const char               *keep;
};

static bool
is_to_be_dropped(const char *name, const void *arg)
{
	const struct sweep_filter *b = arg;

	return tenancy_owns(b->context, name) && (b->keep == NULL || strcmp(name, b->keep) != 0);
}

void
langbot_drop_sessions(struct langbot *l, const struct msg_context *c, const char *keep, ask_fn *fn, void *arg)
{
	struct sweep_filter b = { .context = c, .keep = keep };
	struct msg          failed = { .envelope = ENV_REPLY, .failed = true };
	uint64_t            id = ask_open(l->boxd, MSG_NONE, fn, arg, &failed.error);

	sweep(l, is_to_be_dropped, &b, id);
	if (id == 0) /* they end, but nobody can wait for it */
		fn(arg, &failed);
}

/* ---- box_shutdown ----------------------------------------------------------------------------- */

static bool
is_any(const char *name, const void *arg)
{
	(void)name;
	(void)arg;
	return true;
}

/* Not a step of the action: it counts also when nobody waits for it any more. */
static void
on_all_gone(void *arg, const struct msg *reply)
{
	struct langbot *l = arg;
	struct action  *a = TAILQ_FIRST(&l->actions), *next;

	(void)reply;
	if (--l->shutting_down > 0)
		return;
	for (; a != NULL; a = next) {
		next = TAILQ_NEXT(a, next);
		if (a->type == MSG_BOX_SHUTDOWN)
			action_done(a);
	}
}

void
on_box_shutdown(struct action *a)
{
	struct langbot *l = a->langbot;
	struct err      e;
	uint64_t        id = ask_open(l->boxd, MSG_NONE, on_all_gone, l, &e);

	if (id == 0) {
		action_fail(a, &e);
		return;
	}
	log_info("LangBot shuts its sessions down");
	l->shutting_down++;
	sweep(l, is_any, NULL, id);
}
