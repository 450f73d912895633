/*
 * What init alone knows (offsets, the end of the output) is asked for when a client
 * wants it.  Init answers in the order of the questions, so what is asked behind a
 * spawn is answered when that has happened.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "process/process.h"

/* Init's part of one entry of a list. */
struct seen {
	uint64_t exec, stdin_bytes, stdout_from, stdout_bytes, stdout_dropped, stderr_bytes;
};

struct list_reply {
	uint64_t    request;
	size_t      waiting; /* asks */
	size_t      n;
	struct seen seen[];
};

uint64_t
process_ask(struct worker *w, struct process *p, enum ask_kind kind, uint64_t request, enum msg_type t,
    const void *body, struct err *e)
{
	struct ask *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		err_set(e, E_SYS, "no memory for a request");
		return 0;
	}
	*a = (struct ask){ .id = w->processes->next_id++, .kind = kind, .process = p, .request = request };
	if (link_send(w->down, t, a->id, 0, body, e) == -1) {
		free(a);
		return 0;
	}
	LIST_INSERT_HEAD(&w->processes->asks, a, next);
	if (p != NULL)
		p->asks++;
	return a->id;
}

/* ---- what a client gets to know -------------------------------------------------------- */

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names only, sorted; *out is to be freed. */
static void
env_keys(const struct pairs *env, struct strs *out)
{
	*out = (struct strs){ 0, calloc(env->n + 1, sizeof(*out->v)) };
	for (size_t i = 0; out->v != NULL && i < env->n; i++)
		out->v[out->n++] = env->v[i].name;
	if (out->n > 1)
		qsort(out->v, out->n, sizeof(*out->v), by_bytes);
}

/* All but init's part; info->env_keys.v is to be freed. */
static void
fill_info(const struct process *p, struct msg_process_info *info)
{
	const struct msg_process_spec *s = &p->record.spec;

	msg_defaults(MSG_PROCESS_INFO, info);
	info->session = p->worker->name;
	info->process = s->process;
	info->state = p->state;
	info->argv = s->argv;
	env_keys(&s->env, &info->env_keys);
	info->workdir = s->workdir;
	info->attached = p->attach != 0;
	info->started_ms = p->started_ms;
	info->exited_ms = p->exited_ms;
	info->cause = p->cause;
	info->exit_code = p->exit_code;
	info->signal = p->signal;
	info->restarts = p->record.restarts;
	info->killed = p->killed;
	info->memory_mb = s->memory_mb;
	info->restart = s->restart;
	info->error = p->error != NULL ? p->error : "";
}

static void
reply_info(struct process *p, uint64_t request, const struct msg_managed *seen)
{
	struct msg_process_info info;

	fill_info(p, &info);
	if (seen != NULL) {
		info.stdin_bytes = seen->stdin_bytes;
		info.stdout_from = seen->stdout_from;
		info.stdout_bytes = seen->stdout_bytes;
		info.stdout_dropped = seen->stdout_dropped;
		info.stderr_bytes = seen->stderr_bytes;
		info.stdout_preview = seen->stdout;
		info.stderr_preview = seen->stderr;
	}
	link_tell_reply(p->worker->up, MSG_PROCESS_INFO, request, 0, &info);
	free(info.env_keys.v);
}

int
process_tell_at_end(struct process *p, uint64_t request, uint64_t stdout_last)
{
	struct wait *wait = calloc(1, sizeof(*wait));

	if (wait == NULL)
		return -1;
	*wait = (struct wait){ .request = request, .stdout_last = stdout_last };
	TAILQ_INSERT_TAIL(&p->waits, wait, next);
	return 0;
}

void
process_tell(struct process *p, uint64_t request, uint64_t stdout_last)
{
	struct msg_look look = { .exec = p->exec, .stdout_last = stdout_last, .stderr = true };
	struct err      e;

	if (p->exec == 0)
		reply_info(p, request, NULL);
	else if (process_ask(p->worker, p, ASK_INFO, request, MSG_LOOK, &look, &e) == 0)
		link_tell_failure(p->worker->up, request, 0, &e);
}

/* It has ended and init has said so, but that message comes behind this answer. */
static bool
end_is_on_its_way(const struct process *p, const struct msg_managed *seen)
{
	return seen->ended && seen->exec == p->exec && process_is_live(p) && p->state != PROCESS_BACKOFF;
}

static void
on_info(struct ask *a, struct msg *m)
{
	struct process *p = a->process;
	struct err      e = { 0 };

	if (m->failed || msg_expect(m, MSG_MANAGED, &e) == -1)
		reply_info(p, a->request, NULL);
	else if (!end_is_on_its_way(p, m->body) || process_tell_at_end(p, a->request, 0) == -1)
		reply_info(p, a->request, m->body);
}

/* ---- lists ------------------------------------------------------------------------------- */

static const struct seen *
seen_of(const struct list_reply *l, uint64_t exec)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->seen[i].exec == exec)
			return &l->seen[i];
	return NULL;
}

static void
fill_list(struct worker *w, const struct list_reply *l, struct msg_processes *out)
{
	struct process *p;

	TAILQ_FOREACH (p, &w->processes->all, next) {
		const struct seen *seen = seen_of(l, p->exec);

		if (p->forgotten)
			continue;
		struct msg_process_info *info = &out->processes.v[out->processes.n++];
		fill_info(p, info);
		if (seen == NULL)
			continue;
		info->stdin_bytes = seen->stdin_bytes;
		info->stdout_from = seen->stdout_from;
		info->stdout_bytes = seen->stdout_bytes;
		info->stdout_dropped = seen->stdout_dropped;
		info->stderr_bytes = seen->stderr_bytes;
	}
}

static void
reply_list(struct worker *w, const struct list_reply *l)
{
	struct msg_processes all = { 0 };
	struct err           e = { 0 };

	all.processes.v = calloc(w->processes->n + 1, sizeof(*all.processes.v));
	if (all.processes.v == NULL) {
		err_set(&e, E_SYS, "no memory for the list");
		link_tell_failure(w->up, l->request, 0, &e);
		return;
	}
	fill_list(w, l, &all);
	link_tell_reply(w->up, MSG_PROCESSES, l->request, 0, &all);
	for (size_t i = 0; i < all.processes.n; i++)
		free(all.processes.v[i].env_keys.v);
	free(all.processes.v);
}

static void
list_done(struct worker *w, struct list_reply *l)
{
	if (l->waiting > 0)
		return;
	reply_list(w, l);
	free(l);
}

static void
on_list(struct worker *w, struct ask *a, struct msg *m)
{
	struct list_reply *l = a->list;
	struct err         e;

	l->waiting--;
	if (!m->failed && msg_expect(m, MSG_MANAGED, &e) == 0) {
		const struct msg_managed *seen = m->body;

		l->seen[l->n++] = (struct seen){ seen->exec, seen->stdin_bytes, seen->stdout_from, seen->stdout_bytes,
			seen->stdout_dropped, seen->stderr_bytes };
	}
	list_done(w, l);
}

static void
ask_for_list(struct worker *w, struct list_reply *l)
{
	struct process *p;
	struct err      ignored;

	TAILQ_FOREACH (p, &w->processes->all, next) {
		struct msg_look look = { .exec = p->exec };

		if (p->exec == 0 || p->forgotten ||
		    process_ask(w, p, ASK_LIST, l->request, MSG_LOOK, &look, &ignored) == 0)
			continue;
		LIST_FIRST(&w->processes->asks)->list = l;
		l->waiting++;
	}
}

int
processes_list(struct worker *w, struct msg *m, struct err *e)
{
	struct processes *all = processes_of(w, e);

	if (all == NULL)
		return -1;
	struct list_reply *l = calloc(1, sizeof(*l) + all->n * sizeof(l->seen[0]));
	if (l == NULL)
		return err_set(e, E_SYS, "no memory for the list");
	l->request = m->id;
	ask_for_list(w, l);
	list_done(w, l);
	return 0;
}

/* ---- answers ------------------------------------------------------------------------------- */

static void
on_adopt(struct worker *w, struct msg *m)
{
	struct err e = { 0 };

	w->processes->adopting--;
	if (m->failed || msg_expect(m, MSG_MANAGED, &e) == -1)
		log_error("session=%lu a managed process is lost: %s", w->about.id, m->failed ? m->error.text : e.text);
	else
		process_adopt(w, m->body);
}

static void
answered(struct worker *w, struct ask *a, struct msg *m)
{
	switch (a->kind) {
	case ASK_INFO:
		on_info(a, m);
		break;
	case ASK_LIST:
		on_list(w, a, m);
		break;
	case ASK_FEED:
		process_fed(a->process, a->request, m);
		break;
	case ASK_FOLLOW:
		process_followed(a->process, a->id, m);
		break;
	case ASK_ADOPT:
		on_adopt(w, m);
		break;
	}
}

bool
processes_reply(struct worker *w, struct msg *m)
{
	struct ask *a = NULL;

	if (w->processes == NULL)
		return false;
	LIST_FOREACH (a, &w->processes->asks, next)
		if (a->id == m->id)
			break;
	if (a == NULL)
		return process_result(w, m);
	LIST_REMOVE(a, next);
	answered(w, a, m);
	if (a->process != NULL) {
		a->process->asks--;
		process_settle(a->process);
	}
	free(a);
	return true;
}

void
asks_clear(struct worker *w, const struct err *why)
{
	struct ask *a;

	while ((a = LIST_FIRST(&w->processes->asks)) != NULL) {
		LIST_REMOVE(a, next);
		if (a->kind == ASK_INFO || (a->kind == ASK_LIST && a->list->waiting == 1))
			link_tell_failure(w->up, a->request, 0, why);
		if (a->kind == ASK_LIST && --a->list->waiting == 0)
			free(a->list);
		free(a);
	}
}
