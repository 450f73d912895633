/* How a managed process starts, ends, starts again, and is found again by the next worker. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/restart.h"
#include "process/process.h"

static void
set_timer(struct process *p, double sec)
{
	ev_timer_stop(p->worker->loop, &p->timer);
	ev_timer_set(&p->timer, sec, 0.);
	ev_timer_start(p->worker->loop, &p->timer);
}

static void
set_error(struct process *p, const char *text)
{
	free(p->error);
	p->error = *text != '\0' ? strdup(text) : NULL;
}

static size_t
processes_ended(const struct worker *w)
{
	const struct process *p;
	size_t                n = 0;

	TAILQ_FOREACH (p, &w->processes->all, next)
		n += !process_is_live(p) && !p->forgotten;
	return n;
}

/* The supervisor counts those that live: a session with one is not idle. */
void
process_tell_count(struct worker *w)
{
	struct msg_process_count count = { .live = processes_live(w), .ended = processes_ended(w) };
	struct processes        *all = w->processes;

	pulse_update(w);
	if (all->told_live == count.live && all->told_ended == count.ended)
		return;
	all->told_live = count.live;
	all->told_ended = count.ended;
	link_tell(w->up, MSG_PROCESS_COUNT, 0, 0, &count);
}

/* ---- starting --------------------------------------------------------------------------- */

int
process_encode_record(const struct process *p, struct packet *out, struct err *e)
{
	return msg_encode_reply(out, MSG_PROCESS_RECORD, 0, 0, &p->record, e);
}

static int
take_slot(struct process *p, struct err *e)
{
	struct cgroup *c = &p->worker->cgroup;
	uint64_t       own = p->record.spec.memory_mb;

	p->record.slot = -1;
	if (cgroup_has_slots(c) && (p->record.slot = cgroup_slot_take(c, e)) == -1)
		return -1;
	if (own > 0 && (p->record.slot == -1 || cgroup_slot_limit(c, (int)p->record.slot, own) == -1)) {
		cgroup_slot_done(c, (int)p->record.slot, false);
		p->record.slot = -1;
		return err_set(e, E_BACKEND, "spec.memory_mb: no cgroup limits the memory of a single process here");
	}
	struct cgroup_events before = cgroup_slot_events(c, (int)p->record.slot);
	p->record.oom_kills = before.oom_kills;
	p->record.pids_refused = before.pids_refused;
	return 0;
}

static int
send_spawn(struct process *p, uint64_t id, struct err *e)
{
	const struct msg_process_spec *spec = &p->record.spec;
	struct packet                  about = { 0 };
	struct buf                     text = { 0 };
	struct msg_spawn               s;

	msg_defaults(MSG_SPAWN, &s);
	s.argv = spec->argv;
	s.workdir = spec->workdir;
	s.managed = true;
	s.ring_bytes = spec->ring_bytes;
	s.line_bytes = spec->line_bytes;
	if (!p->record.ready && p->attach == 0) /* the follow that is sent next may come when the ring has gone round */
		s.window = OWN_WINDOW;
	s.continues = p->exec;
	cgroup_slot_spawn(&p->worker->cgroup, (int)p->record.slot, &s);
	int r = process_encode_record(p, &about, e);
	s.about = blob_of(about.bytes.data, about.bytes.len);
	if (r == 0 && env_build(&spec->env, &text, &s.env) == -1)
		r = err_set(e, E_SYS, "no memory for the environment");
	if (r == 0)
		r = link_send(p->worker->down, MSG_SPAWN, id, 0, &s, e);
	free(s.env.v);
	buf_clear(&text);
	packet_clear(&about);
	return r;
}

/* The first time, or again. */
int
process_spawn(struct process *p, struct err *e)
{
	uint64_t id = p->worker->processes->next_id++;

	p->record.ready = p->record.spec.ready == READY_WHEN_STARTED;
	p->record.stdout_offset = p->total;
	if (take_slot(p, e) == -1)
		return -1;
	if (send_spawn(p, id, e) == -1) {
		cgroup_slot_done(&p->worker->cgroup, (int)p->record.slot, false);
		p->record.slot = -1;
		return -1;
	}
	p->before = p->exec;
	p->exec = id;
	p->started_ms = epoch_ms();
	p->state = p->record.ready ? PROCESS_RUNNING : PROCESS_STARTING;
	process_await_ready(p);
	log_debug("session=%lu process=%s exec=%lu started restarts=%lu", p->worker->about.id, process_name(p), id,
	    p->record.restarts);
	return 0;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void
flush_waits(struct process *p)
{
	struct wait *wait;

	while ((wait = TAILQ_FIRST(&p->waits)) != NULL) {
		TAILQ_REMOVE(&p->waits, wait, next);
		process_tell(p, wait->request, wait->stdout_last);
		free(wait);
	}
}

/* Its place is free: whoever is to have it starts now. */
static void
start_heir(struct process *p)
{
	struct processes *all = p->worker->processes;
	struct process   *heir = p->heir;
	struct err        e = { 0 };

	p->heir = NULL;
	if (heir == NULL)
		return;
	if (process_spawn(heir, &e) == -1) {
		link_tell_failure(heir->worker->up, heir->starter, 0, &e);
		process_free(heir);
		return;
	}
	TAILQ_INSERT_TAIL(&all->all, heir, next);
	all->n++;
	process_tell(heir, heir->starter, 0);
}

/* Its name is free again; who reads the rest of its output may finish. */
void
process_forget(struct process *p)
{
	struct worker *w = p->worker;

	p->forgotten = true;
	ev_timer_stop(w->loop, &p->timer);
	process_end_reader(p);
	if (p->attach != 0)
		set_timer(p, LIM_LINGER_SEC);
	process_settle(p); /* may free it */
	process_tell_count(w);
}

/* Stopped on request. */
static void
gone(struct process *p)
{
	if (process_is_live(p))
		p->state = PROCESS_EXITED;
	flush_waits(p);
	start_heir(p);
	process_forget(p);
}

/* Ended for good, by itself: known for a while. */
static void
rest(struct process *p, enum process_state state)
{
	struct worker *w = p->worker;
	double         left = (double)w->process_retention_sec - (double)(epoch_ms() - p->exited_ms) / 1e3;

	p->state = state;
	log_info("session=%lu process=%s %s cause=%s code=%ld signal=%lu restarts=%lu", w->about.id, process_name(p),
	    msg_enum_name(MSG_PROCESS_INFO, "state", (int)state),
	    msg_enum_name(MSG_PROCESS_INFO, "cause", (int)p->cause), p->exit_code, p->signal, p->record.restarts);
	flush_waits(p);
	process_end_reader(p);
	set_timer(p, left > 0 ? left : 0.);
	processes_trim(w);
	process_tell_count(w);
}

void
processes_trim(struct worker *w)
{
	struct process *p, *oldest;
	size_t          ended;

	do {
		ended = 0;
		oldest = NULL;
		TAILQ_FOREACH (p, &w->processes->all, next) {
			if (process_is_live(p) || p->forgotten)
				continue;
			ended++;
			if (oldest == NULL || p->exited_ms < oldest->exited_ms)
				oldest = p;
		}
		if (ended > w->process_retained)
			process_forget(oldest);
	} while (ended > w->process_retained);
}

/* A tenth to a quarter more, so that many that fell together do not rise together. */
static double
jitter(double sec)
{
	uint32_t random = 0;

	(void)!getrandom(&random, sizeof(random), 0);
	return sec * (1 + (double)random / UINT32_MAX / 4);
}

/* Too often within its window, and it has failed; else again, ever more slowly. */
static void
again_or_fail(struct process *p, uint64_t ended_ms)
{
	const struct msg_process_spec *s = &p->record.spec;
	const struct restart_policy    policy = {
		   .first_sec = 0.1,
		   .most_sec = 5,
		   .window_sec = (double)s->restart_window_sec,
		   .limit = (unsigned)s->restart_limit + 1,
	};
	struct restart r = {
		.opened = (double)p->record.opened_ms / 1e3,
		.recent = (unsigned)p->record.recent,
		.delay = (double)p->record.delay_ms / 1e3,
	};
	double delay = restart_after_crash(&r, &policy, (double)ended_ms / 1e3);
	char   text[256];

	p->record.opened_ms = (uint64_t)(r.opened * 1e3);
	p->record.recent = r.recent;
	p->record.delay_ms = (uint64_t)(r.delay * 1e3);
	if (delay < 0) {
		snprintf(text, sizeof(text), "ended %u times within %lu s; it is not started again%s%.100s", r.recent,
		    s->restart_window_sec, p->error != NULL ? ": " : "", p->error != NULL ? p->error : "");
		set_error(p, text);
		rest(p, PROCESS_FAILED);
		return;
	}
	p->record.restarts++;
	p->state = PROCESS_BACKOFF;
	log_info("session=%lu process=%s ended cause=%s code=%ld signal=%lu again_in_ms=%.0f", p->worker->about.id,
	    process_name(p), msg_enum_name(MSG_PROCESS_INFO, "cause", (int)p->cause), p->exit_code, p->signal,
	    delay * 1e3);
	process_again_in(p, jitter(delay));
	flush_waits(p);
}

void
process_again_in(struct process *p, double sec)
{
	set_timer(p, sec);
}

static bool
wants_restart(const struct process *p)
{
	bool failed = p->cause != CAUSE_EXIT || p->exit_code != 0;

	switch (p->record.spec.restart) {
	case RESTART_NEVER:
		return false;
	case RESTART_ON_FAILURE:
		return failed;
	case RESTART_ALWAYS:
		break;
	}
	return true;
}

/* Init sees a signal; only the cgroup's counters know that a limit was behind it. */
static enum cause
cause_behind(const struct process *p, const struct msg_exec_result *r)
{
	bool killed = r->signal == 9 || r->exit_code == 128 + 9;

	if ((r->cause != CAUSE_EXIT && r->cause != CAUSE_SIGNAL) || r->exit_code == 0)
		return r->cause;
	struct cgroup_events now = cgroup_slot_events(&p->worker->cgroup, (int)p->record.slot);
	if (killed && now.oom_kills > p->record.oom_kills)
		return CAUSE_MEMORY;
	return now.pids_refused > p->record.pids_refused ? CAUSE_PIDS : r->cause;
}

void
process_ended(struct process *p, const struct msg_exec_result *r, uint64_t ended_ms)
{
	struct err why;

	p->cause = cause_behind(p, r);
	p->exit_code = r->exit_code;
	p->signal = r->signal;
	p->killed = r->killed;
	p->exited_ms = ended_ms;
	set_error(p, r->error);
	if (p->exec != 0)
		p->total = r->stdout_bytes;
	p->scanning = false;
	process_unfollow(p);
	cgroup_slot_done(&p->worker->cgroup, (int)p->record.slot, true);
	p->record.slot = -1;
	err_set(&why, E_NOTRUNNING, "process %s has ended", process_name(p));
	process_fail_inputs(p, &why);
	if (p->state == PROCESS_STOPPING)
		gone(p);
	else if (wants_restart(p))
		again_or_fail(p, ended_ms);
	else
		rest(p, PROCESS_EXITED);
}

void
process_unstarted(struct process *p, const struct err *why)
{
	struct msg_exec_result r;

	msg_defaults(MSG_EXEC_RESULT, &r);
	r.cause = CAUSE_SPAWN;
	r.exit_code = 126;
	r.error = why->text;
	r.stdout_bytes = p->total;
	process_ended(p, &r, epoch_ms());
}

void
process_end(struct process *p)
{
	struct msg_terminate ask = { .exec = p->exec, .grace_ms = (uint64_t)(LIM_GRACE_SEC * 1e3) };
	struct err           why;

	if (p->state == PROCESS_STOPPING)
		return;
	if (!process_is_live(p) || p->state == PROCESS_BACKOFF) {
		gone(p);
		return;
	}
	p->state = PROCESS_STOPPING;
	p->scanning = false;
	process_unfollow(p);
	set_timer(p, LIM_GRACE_SEC + LIM_OVERDUE_SEC);
	if (p->worker->pause != RUNNING)
		cgroup_slot_let_die(&p->worker->cgroup, (int)p->record.slot);
	err_set(&why, E_NOTRUNNING, "process %s is being stopped", process_name(p));
	process_fail_inputs(p, &why);
	link_tell(p->worker->down, MSG_TERMINATE, p->worker->processes->next_id++, 0, &ask);
}

/* ---- found again ---------------------------------------------------------------------------- */

int
processes_expect(struct worker *w, const struct msg_worker_start *s, struct err *e)
{
	struct processes *all;

	for (size_t i = 0; i < s->followers.n; i++) {
		const struct msg_follower *f = &s->followers.v[i];
		struct reader             *r = calloc(1, sizeof(*r));

		if (r == NULL || (all = processes_of(w, e)) == NULL) {
			free(r);
			return err_set(e, E_SYS, "no memory for attachments");
		}
		*r = (struct reader){ .call = f->call,
			.offset = f->stdout_offset,
			.acked = f->stdout_acked,
			.window = f->window,
			.again = f->again,
			.go_on = f->go_on,
			.wanted = f->wanted };
		snprintf(r->process, sizeof(r->process), "%s", f->process);
		LIST_INSERT_HEAD(&all->readers, r, next);
	}
	return 0;
}

int
processes_adopt(struct worker *w, const struct msg_attached *a, struct err *e)
{
	for (size_t i = 0; i < a->execs.n; i++) {
		struct msg_look look = { .exec = a->execs.v[i].exec, .about = true };

		if (!a->execs.v[i].managed)
			continue;
		struct processes *all = processes_of(w, e);
		if (all == NULL)
			return -1;
		if (look.exec >= all->next_id)
			all->next_id = look.exec + 1;
		if (process_ask(w, NULL, ASK_ADOPT, 0, MSG_LOOK, &look, e) == 0)
			return -1;
		all->adopting++;
	}
	return 0;
}

/* Reply to those whose process is gone. */
static void
refuse_readers(struct worker *w)
{
	struct reader *r;
	struct err     why;

	while ((r = LIST_FIRST(&w->processes->readers)) != NULL) {
		err_session(&why, E_NOTFOUND, "session %s has no managed process %s any more", w->name,
		    log_escape(r->process, strlen(r->process)));
		link_tell_failure(w->up, r->call, 0, &why);
		LIST_REMOVE(r, next);
		free(r);
	}
}

bool
processes_adopted(const struct worker *w)
{
	if (w->processes == NULL)
		return true;
	if (w->processes->adopting > 0)
		return false;
	refuse_readers((struct worker *)w);
	return true;
}

static void
adopt_reader(struct process *p)
{
	struct reader *r, *next;

	for (r = LIST_FIRST(&p->worker->processes->readers); r != NULL; r = next) {
		next = LIST_NEXT(r, next);
		if (strcmp(r->process, p->record.spec.process) != 0)
			continue;
		if (r->acked > p->read_to) /* the worker before may have died with its word in hand */
			process_read(p, r->acked);
		if (r->wanted && r->go_on)
			r->offset = r->acked = process_goes_on_at(p, r->again);
		if (r->wanted)
			process_attach(p, r->call, r->offset, r->acked, r->window);
		LIST_REMOVE(r, next);
		free(r);
	}
	p->followed = true; /* as init sees it, perhaps */
	if (p->attach == 0)
		process_follow(p);
}

/* What it was, from the bytes that init kept for us. */
static struct process *
reopen(struct worker *w, const struct msg_managed *seen, struct err *e)
{
	struct buf      bytes = { 0 };
	struct process *p = NULL;
	struct msg      m = { 0 };

	if (blob_read(&seen->about, &bytes, e) == 0 &&
	    msg_decode(&m, bytes.data, bytes.len, NULL, 0, FROM_WORKER, e) == 0 &&
	    msg_expect(&m, MSG_PROCESS_RECORD, e) == 0) {
		const struct msg_process_record *record = m.body;

		if (process_check(&record->spec, e) == 0)
			p = process_open(w, record, e);
	}
	msg_clear(&m);
	buf_clear(&bytes);
	return p;
}

void
process_adopt(struct worker *w, const struct msg_managed *seen)
{
	struct err      e = { 0 };
	struct process *p = reopen(w, seen, &e);

	if (p == NULL) { /* not ours, or damaged: a process that nobody can name must not run on */
		log_error("session=%lu exec=%lu is no process we know: %s", w->about.id, seen->exec, e.text);
		link_tell(w->down, MSG_CANCEL, w->processes->next_id++, 0, &(struct msg_cancel){ .call = seen->exec });
		return;
	}
	TAILQ_INSERT_TAIL(&w->processes->all, p, next);
	w->processes->n++;
	p->exec = seen->exec;
	p->started_ms = seen->started_ms;
	p->total = seen->stdout_bytes;
	p->read_to = seen->stdout_read;
	if (!cgroup_slot_retake(&w->cgroup, (int)p->record.slot))
		p->record.slot = -1;
	p->state = seen->terminated ? PROCESS_STOPPING : p->record.ready ? PROCESS_RUNNING : PROCESS_STARTING;
	if (seen->ended) {
		adopt_reader(p);
		process_ended(p, &seen->result, seen->ended_ms);
		return;
	}
	if (p->state == PROCESS_STOPPING)
		set_timer(p, LIM_GRACE_SEC + LIM_OVERDUE_SEC);
	else
		process_await_ready(p);
	adopt_reader(p);
	process_tell_count(w);
}
