/* Managed processes, and box_get_session, which lists them. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/share.h"
#include "langbot/langbot_impl.h"

/* ---- one as LangBot sees it -------------------------------------------------------------------------------- */

static int64_t
exit_code(const struct msg_process_info *i)
{
	if (i->exit_code >= 0)
		return i->exit_code;
	return i->signal != 0 ? -(int64_t)i->signal : -1;
}

static struct msg_box_process
box_process(const char *logical, const struct msg_process_info *i)
{
	struct msg_box_process p = { .session_id = logical, .info = *i, .exit_code = exit_code(i) };

	p.info.session = logical;
	return p;
}

/* A worker knows it by its own words. */
static void
process_failed(struct action *a, const char *process, const struct err *why)
{
	struct err e = *why, gone;

	if (why->code == E_NOTFOUND || why->code == E_NOPROCESS || why->code == E_STATE) {
		if (action_session(a, &gone) == NULL)
			e = gone;
		else if (why->code != E_STATE)
			err_set(&e, E_NOPROCESS, "session %s has no managed process with process_id=%s",
			    action_logical(a), *process != '\0' ? process : "default");
	} else if (why->code == E_CAPACITY && a->process_limit != 0) {
		share_check(a->langbot->boxd->config, a->process_limit, a->process_limit, E_CAPACITY,
		    "Box managed process capacity reached", &e);
	} else if (why->reason == REASON_PROCESSES) {
		err_set(&e, E_CAPACITY, "Box managed process capacity reached (%lu)", why->number);
	}
	action_fail(a, &e);
}

static void
reply_process(struct action *a, const char *process, const struct msg *reply)
{
	if (reply->failed) {
		process_failed(a, process, &reply->error);
		return;
	}
	struct msg_box_process p = box_process(action_logical(a), reply->body);
	action_reply(a, MSG_BOX_PROCESS, &p);
}

/* Find the session; -1: the action has failed. */
static int
enter(struct action *a, const char *session_id)
{
	struct err e;

	if (action_name(a, session_id, &e) == 0 && action_session(a, &e) != NULL)
		return 0;
	action_fail(a, &e);
	return -1;
}

/* ---- start -------------------------------------------------------------------------------------------------- */

static void
on_started(struct action *a, const struct msg *reply)
{
	reply_process(a, ((const struct msg_box_process_start *)a->body)->process_id, reply);
}

/* Processes that run or are being started, in all workspaces or in this one; this action's own is not counted. */
static uint64_t
count_running(const struct action *a, bool all)
{
	uint64_t             n = langbot_processes(a->langbot, all ? NULL : &a->context);
	const struct action *other;

	TAILQ_FOREACH (other, &a->langbot->actions, next)
		n += other != a && other->type == MSG_BOX_PROCESS_START && other->asked != 0 &&
		     (all || context_same_workspace(&other->context, &a->context));
	return n;
}

/* A full share is reported like a full boxd: a process that replaces another may still start. */
static uint64_t
full_share(struct action *a, uint64_t most)
{
	const struct config *c = a->langbot->boxd->config;
	uint64_t             limit = most < c->max_processes ? most : c->max_processes;
	struct err           ignored;

	if (share_check(c, count_running(a, false), limit, E_CAPACITY, "", &ignored) == 0)
		return 0;
	a->process_limit = limit;
	return share_of(c, limit);
}

/* Only its worker knows whether it replaces another process; the worker gets the limit and refuses all others. */
static int
check_capacity(struct action *a, uint64_t *capacity, struct err *e)
{
	struct langbot *l = a->langbot;
	uint64_t        most = langbot_limits(l)->max_managed_processes;

	if (admission_enforced(l->boxd->admission) &&
	    admission_check_process(l->boxd->admission, &a->context, langbot_processes(l, &a->context), e) == -1)
		return -1;
	*capacity = count_running(a, true) >= most ? most : full_share(a, most);
	if (most == 0)
		return err_set(e, E_CAPACITY, "Box managed process capacity reached (0)");
	return 0;
}

/*
 * A relay passes a line on only whole, so a whole one must be kept while nobody is attached.  It is the session's memory;
 * all of them together are bounded as well, and beyond that a process keeps what every process does.
 */
static uint64_t
line_kept(const struct action *a, const char *process)
{
	const struct boxd *h = a->langbot->boxd;
	uint64_t           line = h->config->relay_line_bytes, others = h->processes + h->starting;

	if ((others + 1) * (line + LIM_RING_SPARE) <= LIM_RINGS)
		return line;
	log_warn(
	    "session=%s process=%s a line of %lu bytes is not kept whole while nobody is attached: %lu other processes "
	    "share %lu MiB",
	    a->name, log_escape(process, strlen(process)), line, others, LIM_RINGS / MIB);
	return 0;
}

void
on_box_process_start(struct action *a)
{
	const struct msg_box_process_start *b = a->body;
	struct msg_process_start            start;
	struct err                          e;

	msg_defaults(MSG_PROCESS_START, &start);
	if (enter(a, b->session_id) == -1)
		return;
	if (check_capacity(a, &start.capacity, &e) == -1) {
		action_fail(a, &e);
		return;
	}
	const char **argv = calloc(b->args.n + 2, sizeof(*argv));
	if (argv == NULL) {
		err_set(&e, E_SYS, "no memory for a request");
		action_fail(a, &e);
		return;
	}
	argv[0] = b->command;
	for (size_t i = 0; i < b->args.n; i++)
		argv[i + 1] = b->args.v[i];
	start.session = a->name;
	start.spec.process = b->process_id;
	start.spec.argv = (struct strs){ b->args.n + 1, argv };
	start.spec.env = b->env;
	start.spec.workdir = b->cwd;
	start.spec.memory_mb = b->memory_mb;
	start.spec.line_bytes = line_kept(a, b->process_id);
	action_ask(a, MSG_PROCESS_START, &start, on_started);
	free(argv);
}

/* ---- get, stop ------------------------------------------------------------------------------------------------ */

static void
on_looked(struct action *a, const struct msg *reply)
{
	reply_process(a, ((const struct msg_box_process_get *)a->body)->process_id, reply);
}

void
on_box_process_get(struct action *a)
{
	const struct msg_box_process_get *b = a->body;
	struct msg_process_get            get = { .session = a->name, .process = b->process_id };

	if (enter(a, b->session_id) == 0)
		action_ask(a, MSG_PROCESS_GET, &get, on_looked);
}

static void
on_stopped(struct action *a, const struct msg *reply)
{
	if (reply->failed)
		process_failed(a, ((const struct msg_box_process_stop *)a->body)->process_id, &reply->error);
	else
		action_done(a);
}

void
on_box_process_stop(struct action *a)
{
	const struct msg_box_process_stop *b = a->body;
	struct msg_process_stop            stop = { .session = a->name, .process = b->process_id };

	if (enter(a, b->session_id) == 0)
		action_ask(a, MSG_PROCESS_STOP, &stop, on_stopped);
}

/* ---- box_get_session ---------------------------------------------------------------------------------------------- */

/* A list does not have the ends of their standard errors, so each process is asked for. */
struct processes {
	struct msg_processes list; /* borrows from the next */
	struct owned_msg     list_kept;
	size_t               seen;
	struct {
		struct msg_process_info info; /* borrows from the next */
		struct owned_msg        kept;
	} v[]; /* the first seen of them are filled */
};

void
processes_free(struct processes *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->seen; i++)
		owned_msg_clear(&p->v[i].kept);
	owned_msg_clear(&p->list_kept);
	free(p);
}

static void look_at_next(struct action *);

static void
on_one_looked_at(struct action *a, const struct msg *reply)
{
	struct processes *p = a->processes;
	size_t            i = p->seen;
	struct err        e;

	assert(i < p->list.processes.n);
	/* a process that was forgotten meanwhile is shown as in the list */
	p->v[i].info = reply->failed ? p->list.processes.v[i] : *(const struct msg_process_info *)reply->body;
	if (owned_msg_copy(&p->v[i].kept, MSG_PROCESS_INFO, &p->v[i].info, &e) == -1) {
		action_fail(a, &e);
		return;
	}
	p->seen++;
	look_at_next(a);
}

static void
tell_session(struct action *a)
{
	struct processes      *p = a->processes;
	struct msg_box_process all[LIM_PROCESSES];
	struct err             e;
	struct session        *s = action_session(a, &e);
	char                   id[32];

	if (s == NULL) {
		action_fail(a, &e);
		return;
	}
	struct msg_box_session session = box_session(a->langbot, s, action_logical(a), id);
	assert(p->seen <= LIM_PROCESSES);
	session.processes.v = all;
	for (size_t i = 0; i < p->seen; i++)
		all[session.processes.n++] = box_process(action_logical(a), &p->v[i].info);
	action_reply(a, MSG_BOX_SESSION, &session);
}

static void
look_at_next(struct action *a)
{
	struct processes *p = a->processes;

	if (p->seen == p->list.processes.n) {
		tell_session(a);
		return;
	}
	struct msg_process_get get = { .session = a->name, .process = p->list.processes.v[p->seen].process };
	action_ask(a, MSG_PROCESS_GET, &get, on_one_looked_at);
}

static void
on_listed(struct action *a, const struct msg *reply)
{
	const struct msg_processes *list = reply->body;
	struct err                  e;

	if (reply->failed) {
		process_failed(a, "", &reply->error);
		return;
	}
	a->processes = calloc(1, sizeof(*a->processes) + list->processes.n * sizeof(a->processes->v[0]));
	if (a->processes == NULL) {
		err_set(&e, E_SYS, "no memory for a request");
		action_fail(a, &e);
		return;
	}
	a->processes->list = *list;
	if (owned_msg_copy(&a->processes->list_kept, MSG_PROCESSES, &a->processes->list, &e) == -1)
		action_fail(a, &e);
	else
		look_at_next(a);
}

void
on_box_get(struct action *a)
{
	struct msg_process_list list = { .session = a->name };
	struct err              e;

	if (action_name(a, ((const struct msg_box_get *)a->body)->session_id, &e) == -1) {
		action_fail(a, &e);
		return;
	}
	if (action_session(a, &e) == NULL) {
		err_set(&e, E_NOTFOUND, "session %s not found", action_logical(a));
		action_fail(a, &e);
		return;
	}
	action_ask(a, MSG_PROCESS_LIST, &list, on_listed);
}
