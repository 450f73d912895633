/* Ending sessions, one or many, and waiting until nothing is left of them. */
#include <assert.h>
#include <stdio.h>
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

	assert(s->left > 0);
	if (--s->left > 0)
		return;
	LIST_REMOVE(s, next);
	free(s);
	reply_send(h, MSG_DONE, CONN_OWN, id, &(struct msg_done){});
}

/* Whatever the answer is, the session is gone, or boxd cannot do more about it. */
static void
on_deleted(void *arg, const struct msg *reply)
{
	if (reply->failed && reply->error.code != E_NOTFOUND)
		log_warn("a session that should end: %s", reply->error.text);
	one_less(arg);
}

/* End the named sessions, and answer that call when the last is gone: at once, if there are no names. */
static int
end_named(struct langbot *l, char (*names)[LIM_NAME + 1], size_t n, uint64_t id, struct err *e)
{
	struct sweep *s = calloc(1, sizeof(*s));
	struct err    ignored;

	if (s == NULL)
		return err_set(e, E_SYS, "no memory to end sessions");
	*s = (struct sweep){ .boxd = l->boxd, .left = n + 1, .id = id };
	LIST_INSERT_HEAD(&l->sweeps, s, next);
	for (size_t i = 0; i < n; i++)
		if (ask(l->boxd, MSG_DELETE, &(struct msg_delete){ .session = names[i] }, on_deleted, s, &ignored) == 0)
			one_less(s); /* it went meanwhile */
	one_less(s);
	return 0;
}

/* Which sessions of a group, and their names as they are found. */
struct wanted {
	bool (*want)(const char *, const void *);
	const void *arg;
	char (*names)[LIM_NAME + 1];
	size_t          n;
	struct session *open; /* one that is not closing yet */
};

static bool
collect(struct session *s, void *arg)
{
	struct wanted *w = arg;

	if (w->want(session_name(s), w->arg))
		snprintf(w->names[w->n++], sizeof(*w->names), "%s", session_name(s));
	return true;
}

static bool
find_open(struct session *s, void *arg)
{
	struct wanted *w = arg;

	if (!session_is_closing(s) && w->want(session_name(s), w->arg))
		w->open = s;
	return w->open == NULL;
}

/* Without memory the end of the sessions is not waited for, but they do end: leaving one running would be worse. */
static int
close_unnamed(struct langbot *l, struct group_key of, struct wanted *w, struct err *e)
{
	for (;;) {
		w->open = NULL;
		registry_each_of(l->boxd->registry, of, find_open, w);
		if (w->open == NULL)
			return err_set(e, E_SYS, "no memory to end sessions");
		session_close(w->open, "deleted");
	}
}

/* The same for all sessions of a group that want() accepts.  -1: the call is not answered. */
static int
sweep(struct langbot *l, struct group_key of, bool (*want)(const char *, const void *), const void *want_arg,
    uint64_t id, struct err *e)
{
	struct wanted w = { .want = want, .arg = want_arg };
	size_t        room = registry_sum(l->boxd->registry, of).n[SESSIONS];

	w.names = calloc(room + 1, sizeof(*w.names));
	if (w.names != NULL)
		registry_each_of(l->boxd->registry, of, collect, &w);
	assert(w.n <= room);
	int r = w.names == NULL ? -1 : end_named(l, w.names, w.n, id, e);
	free(w.names);
	return r == 0 ? 0 : close_unnamed(l, of, &w, e);
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

static bool
is_of_another_generation(const char *name, const void *arg)
{
	return tenancy_logical(arg, name) == NULL;
}

/* The counts show whether there are any, including those found after a restart; only then is the group walked. */
void
action_retire_others(struct action *a, step_fn *fn)
{
	struct langbot  *l = a->langbot;
	struct registry *r = l->boxd->registry;
	char             text[LIM_NAME + 1], current[LIM_NAME + 1];
	struct group_key all = tenancy_group(&a->context, text);
	struct err       e;

	if (registry_sum(r, all).n[SESSIONS] ==
	    registry_sum(r, tenancy_group_current(&a->context, current)).n[SESSIONS]) {
		fn(a, NULL);
		return;
	}
	uint64_t id = action_wait(a, fn);
	if (id != 0 && sweep(l, all, is_of_another_generation, &a->context, id, &e) == -1)
		action_fail(a, &e);
}

void
action_end_session(struct action *a, step_fn *fn)
{
	uint64_t   id = action_wait(a, fn);
	struct err e;
	char       name[1][LIM_NAME + 1];

	if (id == 0)
		return;
	snprintf(name[0], sizeof(name[0]), "%s", a->name);
	if (end_named(a->langbot, name, 1, id, &e) == -1)
		action_fail(a, &e);
}

static bool
is_not(const char *name, const void *keep)
{
	return keep == NULL || strcmp(name, keep) != 0;
}

void
langbot_drop_sessions(struct langbot *l, const struct msg_context *c, const char *keep, ask_fn *fn, void *arg)
{
	struct msg failed = { .envelope = ENV_REPLY, .failed = true };
	uint64_t   id = ask_open(l->boxd, MSG_NONE, fn, arg, &failed.error);
	char       text[LIM_NAME + 1];

	if (sweep(l, tenancy_group(c, text), is_not, keep, id, &failed.error) == 0 && id != 0)
		return;
	ask_drop(l->boxd, id);
	fn(arg, &failed); /* they end, but without memory nothing waits for it */
}

/* ---- box_shutdown ----------------------------------------------------------------------------- */

/* Not a step of the action: it counts even when the client has left. */
static void
on_all_gone(void *arg, const struct msg *reply)
{
	struct langbot *l = arg;
	struct action  *a = TAILQ_FIRST(&l->actions), *next;

	assert(l->shutting_down > 0);
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
	if (sweep(l, GROUP_LANGBOT, is_not, NULL, id, &e) == 0)
		return;
	l->shutting_down--;
	ask_drop(l->boxd, id);
	action_fail(a, &e);
}
