/* Ending sessions, one or many, and waiting until nothing is left of them. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/registry.h"
#include "langbot/langbot_impl.h"

struct sweep {
	LIST_ENTRY(sweep) next;
	size_t left; /* sessions that are not gone yet, and one while they are being asked */
	void (*fn)(void *);
	void *arg;
};

static void
one_less(struct sweep *s)
{
	if (--s->left > 0)
		return;
	void (*fn)(void *) = s->fn;
	void *arg = s->arg;
	LIST_REMOVE(s, next);
	free(s);
	fn(arg);
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

/* End all sessions of LangBot's that want() says; fn when the last is gone, perhaps at once. */
static void
sweep(struct langbot *l, bool (*want)(const char *, const void *), const void *want_arg, void (*fn)(void *), void *arg)
{
	struct names names = { .want = want, .arg = want_arg };
	struct err   e;

	registry_each(l->boxd->registry, collect, &names);
	if (names.n == 0) {
		fn(arg);
		return;
	}
	struct sweep *s = calloc(1, sizeof(*s));
	if (s == NULL)
		abort();
	*s = (struct sweep){ .left = names.n + 1, .fn = fn, .arg = arg };
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
	struct call    *c = action_wait(a, fn);

	sweep(l, want, arg, call_over, c);
	call_passed(c);
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
langbot_drop_sessions(struct langbot *l, const struct msg_context *c, const char *keep, void (*fn)(void *), void *arg)
{
	struct sweep_filter b = { .context = c, .keep = keep };

	sweep(l, is_to_be_dropped, &b, fn, arg);
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
on_all_gone(void *arg)
{
	struct langbot *l = arg;
	struct action  *a = TAILQ_FIRST(&l->actions), *next;

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

	log_info("LangBot shuts its sessions down");
	l->shutting_down++;
	sweep(l, is_any, NULL, on_all_gone, l);
}
