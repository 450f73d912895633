/* What clients ask of managed processes, and the table they are in. */
#include "process/process.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"

#define DEFAULT_NAME "default"

/* ---- the table ----------------------------------------------------------------------- */

/* The supervisor's ids come from its clock in microseconds; this bit keeps ours apart from them. */
#define OUR_IDS (1UL << 62)

struct processes *
processes_of(struct worker *w, struct err *e)
{
	if (w->processes != NULL)
		return w->processes;
	w->processes = calloc(1, sizeof(*w->processes));
	if (w->processes == NULL) {
		err_set(e, E_SYS, "no memory for managed processes");
		return NULL;
	}
	TAILQ_INIT(&w->processes->all);
	w->processes
	    ->told_live = UINT64_MAX; /* a worker that takes over reports what it found, even if that is nothing */
	w->processes->next_id = OUR_IDS + (uint64_t)(ev_time() * 1e6);
	return w->processes;
}

const char *
process_name(const struct process *p)
{
	return log_escape(p->record.spec.process, strlen(p->record.spec.process));
}

static struct process *
process_find_named(const struct worker *w, const char *name)
{
	struct process *p;

	if (w->processes == NULL)
		return NULL;
	TAILQ_FOREACH (p, &w->processes->all, next)
		if (!p->forgotten && strcmp(p->record.spec.process, *name != '\0' ? name : DEFAULT_NAME) == 0)
			return p;
	return NULL;
}

static struct process *
need(const struct worker *w, const char *name, struct err *e)
{
	struct process *p = process_find_named(w, name);

	if (*name == '\0')
		name = DEFAULT_NAME;
	if (p == NULL)
		err_session(
		    e, E_NOTFOUND, "session %s has no managed process %s", w->name, log_escape(name, strlen(name)));
	return p;
}

static struct process *
find_attached(const struct worker *w, uint64_t call)
{
	struct process *p;

	if (w->processes == NULL)
		return NULL;
	TAILQ_FOREACH (p, &w->processes->all, next)
		if (p->attach != 0 && p->attach == call)
			return p;
	return NULL;
}

static struct process *
find_exec(const struct worker *w, uint64_t exec)
{
	struct process *p;

	if (w->processes == NULL)
		return NULL;
	TAILQ_FOREACH (p, &w->processes->all, next)
		if (p->exec == exec || p->before == exec)
			return p;
	return NULL;
}

size_t
processes_live(const struct worker *w)
{
	struct process *p;
	size_t          n = 0;

	if (w->processes == NULL)
		return 0;
	TAILQ_FOREACH (p, &w->processes->all, next)
		n += process_is_live(p);
	return n;
}

/* ---- one of them ------------------------------------------------------------------------ */

static void on_timer(struct ev_loop *, ev_timer *, int revents);

static int
take_pattern(struct process *p, struct err *e)
{
	if (p->record.spec.ready != READY_WHEN_LINE)
		return 0;
	p->pattern = malloc(sizeof(*p->pattern));
	if (p->pattern == NULL)
		return err_set(e, E_SYS, "no memory for a pattern");
	if (pattern_compile(p->pattern, p->record.spec.ready_pattern, e) == 0)
		return 0;
	free(p->pattern);
	p->pattern = NULL;
	return -1;
}

struct process *
process_open(struct worker *w, const struct msg_process_record *record, struct err *e)
{
	struct process *p = processes_of(w, e) != NULL ? calloc(1, sizeof(*p)) : NULL;

	if (p == NULL) {
		err_set(e, E_SYS, "no memory for a managed process");
		return NULL;
	}
	p->worker = w;
	p->record = *record;
	p->exit_code = -1;
	p->state = PROCESS_STARTING;
	TAILQ_INIT(&p->waits);
	TAILQ_INIT(&p->inputs);
	ev_timer_init(&p->timer, on_timer, 0., 0.);
	p->timer.data = p;
	if (owned_msg_copy(&p->record_kept, MSG_PROCESS_RECORD, &p->record, e) == -1 || take_pattern(p, e) == -1) {
		process_free(p);
		return NULL;
	}
	return p;
}

void
process_free(struct process *p)
{
	struct wait *wait;

	ev_timer_stop(p->worker->loop, &p->timer);
	while ((wait = TAILQ_FIRST(&p->waits)) != NULL) {
		TAILQ_REMOVE(&p->waits, wait, next);
		free(wait);
	}
	if (p->pattern != NULL)
		regfree(p->pattern);
	free(p->pattern);
	buf_clear(&p->line);
	owned_msg_clear(&p->record_kept);
	free(p->error);
	free(p);
}

void
process_settle(struct process *p)
{
	struct processes *all = p->worker->processes;

	if (!p->forgotten || p->asks > 0 || p->attach != 0 || p->heir != NULL)
		return;
	if (p->exec != 0)
		link_tell(p->worker->down, MSG_RELEASE, 0, 0, &(struct msg_release){ .exec = p->exec });
	assert(all->n > 0);
	TAILQ_REMOVE(&all->all, p, next);
	all->n--;
	process_free(p);
}

static void
on_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct process *p = t->data;
	struct err      e = { 0 };

	if (p->state == PROCESS_STOPPING) {
		err_set(&e, E_CRASH, "the sandbox's init did not end process %s within %.0f s; the sandbox is ended",
		    process_name(p), LIM_GRACE_SEC + LIM_OVERDUE_SEC);
		worker_broken(p->worker, &e);
	} else if (p->state == PROCESS_BACKOFF && p->worker->pause != RUNNING) {
		process_again_in(p, 1.); /* nothing starts in a paused session */
	} else if (p->state == PROCESS_BACKOFF) {
		if (process_spawn(p, &e) == -1)
			process_unstarted(p, &e);
	} else if (p->forgotten) {
		err_set(&e, E_STATE, "process %s is gone; its last output was not taken within %.0f s", process_name(p),
		    LIM_LINGER_SEC);
		process_drop_reader(p, &e);
		process_settle(p);
	} else {
		process_forget(p);
	}
}

/* ---- start ---------------------------------------------------------------------------------- */

int
process_check(const struct msg_process_spec *s, struct err *e)
{
	if (s->argv.n == 0 || *s->argv.v[0] == '\0')
		return err_set(e, E_INVALID, "spec.argv: the program's name is empty");
	if (*s->workdir != '\0' && *s->workdir != '/')
		return err_set(e, E_INVALID, "spec.workdir: '%s' is not an absolute path",
		    log_escape(s->workdir, strlen(s->workdir)));
	if (s->memory_mb > 0 && s->memory_mb < LIM_MEMORY_MIN_MB)
		return err_set(e, E_INVALID, "spec.memory_mb: %lu is less than %d", s->memory_mb, LIM_MEMORY_MIN_MB);
	if (s->ready == READY_WHEN_LINE && *s->ready_pattern == '\0')
		return err_set(e, E_INVALID, "spec.ready_pattern: required with ready = line");
	return env_check(&s->env, "spec.env", e);
}

static int
record_check(const struct process *p, struct err *e)
{
	struct packet bytes = { 0 };
	int           r = process_encode_record(p, &bytes, e);

	if (r == 0 && bytes.bytes.len > LIM_ABOUT)
		r = err_set(e, E_INVALID, "spec.argv, spec.env: %zu bytes together, over the maximum of %lu",
		    bytes.bytes.len, LIM_ABOUT);
	packet_clear(&bytes);
	return r;
}

/* Room for one more: an ended one that was kept for the curious goes first. */
static int
make_room(struct worker *w, struct err *e)
{
	struct process *p, *oldest = NULL;

	if (w->processes->n < LIM_PROCESSES)
		return 0;
	TAILQ_FOREACH (p, &w->processes->all, next)
		if (!process_is_live(p) && !p->forgotten && (oldest == NULL || p->exited_ms < oldest->exited_ms))
			oldest = p;
	if (oldest != NULL)
		process_forget(oldest);
	if (w->processes->n < LIM_PROCESSES)
		return 0;
	return err_session(e, E_CAPACITY, "session %s has %d managed processes already", w->name, LIM_PROCESSES);
}

/* One that waited to start in the place of another, and will not. */
static void
drop_heir(struct process *p, const char *why)
{
	struct err e;

	if (p->heir == NULL)
		return;
	err_set(&e, E_STATE, "process %s was %s before it could start", process_name(p), why);
	link_tell_failure(p->worker->up, p->heir->starter, 0, &e);
	process_free(p->heir);
	p->heir = NULL;
}

static int
seat(struct process *p, struct process *old, struct err *e)
{
	struct processes *all = p->worker->processes;

	if (old != NULL && process_is_live(old)) {
		drop_heir(old, "started again");
		old->heir = p;
		process_end(old);
		return 0;
	}
	if (old != NULL)
		process_forget(old);
	if (make_room(p->worker, e) == -1 || process_spawn(p, e) == -1)
		return -1;
	TAILQ_INSERT_TAIL(&all->all, p, next);
	all->n++;
	process_tell_count(p->worker);
	process_tell(p, p->starter, 0);
	return 0;
}

int
processes_start(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_process_start *body = m->body;
	struct process                 *old = process_find_named(w, body->spec.process);
	struct msg_process_record       record;

	msg_defaults(MSG_PROCESS_RECORD, &record);
	record.spec = body->spec;
	if (*record.spec.process == '\0')
		record.spec.process = DEFAULT_NAME;
	if (*record.spec.workdir == '\0')
		record.spec.workdir = mounts_workdir(&w->about.spec);
	if (process_check(&record.spec, e) == -1)
		return -1;
	if (body->capacity > 0 && (old == NULL || !process_is_live(old))) {
		err_set(e, E_CAPACITY, "managed process capacity reached (%lu)", body->capacity);
		return err_because(e, REASON_PROCESSES, FIELD_NONE, body->capacity);
	}
	struct process *p = process_open(w, &record, e);
	if (p == NULL)
		return -1;
	p->starter = m->id;
	if (record_check(p, e) == -1 || seat(p, old, e) == -1) {
		process_free(p);
		return -1;
	}
	return 0;
}

/* ---- the other requests ------------------------------------------------------------------------- */

int
processes_get(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_process_get *body = m->body;
	struct process               *p = need(w, body->process, e);

	if (p == NULL)
		return -1;
	process_tell(p, m->id, body->stdout_last);
	return 0;
}

int
processes_stop(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_process_stop *body = m->body;
	struct process                *p = need(w, body->process, e);

	if (p == NULL)
		return -1;
	if (process_tell_at_end(p, m->id, 0) == -1)
		return err_set(e, E_SYS, "no memory for a request");
	drop_heir(p, "stopped");
	process_end(p);
	return 0;
}

int
processes_write(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_process_write *body = m->body;
	struct process                 *p = need(w, body->process, e);

	if (p == NULL)
		return -1;
	return process_input(p, m->id, body, e);
}

int
processes_attach(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_process_attach *body = m->body;
	struct process                  *p = need(w, body->process, e);

	if (p == NULL)
		return -1;
	uint64_t offset = body->go_on ? process_goes_on_at(p, body->again) : body->stdout_offset;
	process_attach(p, m->id, offset, offset, body->window);
	return 0;
}

bool
processes_ack(struct worker *w, const struct msg_output_ack *a)
{
	struct process *p = find_attached(w, a->call);

	if (p == NULL)
		return false;
	if (a->stream == STREAM_STDOUT)
		process_read(p, a->offset);
	return true;
}

bool
processes_detach(struct worker *w, uint64_t call)
{
	struct process *p = find_attached(w, call);
	struct err      why;

	if (p == NULL)
		return false;
	err_set(&why, E_STATE, "detached from process %s", process_name(p));
	process_drop_reader(p, &why);
	process_settle(p);
	return true;
}

/* A spawn is answered with its result; everything else with what was asked for. */
bool
process_result(struct worker *w, struct msg *m)
{
	struct process *p = find_exec(w, m->id);
	struct err      e = { 0 };

	if (p == NULL)
		return false;
	if (m->id != p->exec || p->state == PROCESS_BACKOFF || !process_is_live(p))
		return true; /* told again to a new worker, which has seen it */
	if (m->failed || msg_expect(m, MSG_EXEC_RESULT, &e) == -1) {
		p->exec = p->before; /* which init still has */
		p->before = 0;
		process_unstarted(p, m->failed ? &m->error : &e);
	} else {
		process_ended(p, m->body, (uint64_t)(ev_time() * 1e3));
	}
	return true;
}

void
processes_close(struct worker *w, const struct err *why)
{
	struct process *p;

	if (w->processes == NULL)
		return;
	asks_clear(w, why);
	while ((p = TAILQ_FIRST(&w->processes->all)) != NULL) {
		struct wait *wait;

		if (p->heir != NULL) {
			link_tell_failure(w->up, p->heir->starter, 0, why);
			process_free(p->heir);
		}
		TAILQ_FOREACH (wait, &p->waits, next)
			link_tell_failure(w->up, wait->request, 0, why);
		if (p->attach != 0)
			link_tell_failure(w->up, p->attach, 0, why);
		process_fail_inputs(p, why);
		TAILQ_REMOVE(&w->processes->all, p, next);
		process_free(p);
	}
	free(w->processes);
	w->processes = NULL;
	pulse_update(w);
}
