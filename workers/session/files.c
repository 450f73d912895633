/*
 * Nothing that box-files says is believed because it is ours: it runs inside, with
 * hostile neighbours.  It may answer what it was asked, by id and with the right result,
 * and nothing else; whatever else comes from it ends it.
 *
 * At most LIM_FILES_BUSY requests are in its hands, so that the chunks on their way are
 * bounded whatever a client asks for; the others wait here, in order.
 */
#include "files.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "worker.h"

/* Ids of init's requests that are about box-files: far above the supervisor's, which come from its clock. */
#define FILES_ID 0x0f11e00000000000UL
#define FILES_ID_MASK 0xfffff00000000000UL
#define CANCEL_BIT 1UL /* spawns are even, the cancelling of one is the odd number behind it */

enum { KEEP_BYTES = 1024 }; /* of its output: why it could not begin */

struct file_call {
	TAILQ_ENTRY(file_call) next;
	uint64_t      id; /* the supervisor's */
	enum msg_type type;
	struct packet packet; /* until it is sent */
	bool          sent;
};

static const struct link_ops files_ops;

static void gone(struct worker *);

static struct files *
files_of(struct worker *w)
{
	return &w->files;
}

/* ---- the requests -------------------------------------------------------------------- */

static void
call_drop(struct files *f, struct file_call *c)
{
	TAILQ_REMOVE(&f->calls, c, next);
	f->ncalls--;
	f->nsent -= c->sent;
	packet_clear(&c->packet);
	free(c);
}

static void
fail_calls(struct worker *w, bool sent_only, const struct err *why)
{
	struct files     *f = files_of(w);
	struct file_call *c = TAILQ_FIRST(&f->calls), *next;

	for (; c != NULL; c = next) {
		next = TAILQ_NEXT(c, next);
		if (sent_only && !c->sent)
			continue;
		link_tell_failure(w->up, c->id, 0, why);
		call_drop(f, c);
	}
}

static struct file_call *
call_sent(struct files *f, uint64_t id)
{
	struct file_call *c;

	TAILQ_FOREACH (c, &f->calls, next)
		if (c->sent && c->id == id)
			return c;
	return NULL;
}

/* ---- time ---------------------------------------------------------------------------- */

static void
expect(struct worker *w, double sec)
{
	struct files *f = files_of(w);

	ev_timer_stop(w->loop, &f->timer);
	ev_timer_set(&f->timer, sec, 0.);
	ev_timer_start(w->loop, &f->timer);
}

static void
kill_it(struct worker *w)
{
	struct files     *f = files_of(w);
	struct msg_cancel cancel = { .call = f->id };
	struct err        e = { 0 };

	f->killed = true;
	if (link_send(w->down, MSG_CANCEL, f->id | CANCEL_BIT, 0, &cancel, &e) == -1)
		log_debug("session=%lu box-files: %s", w->about.id, e.text);
}

/* It sees the end of its channel, and goes; or is killed. */
static void
leave(struct worker *w, bool kill)
{
	struct files *f = files_of(w);

	link_close(&f->link);
	f->state = FILES_GOING;
	expect(w, LIM_OVERDUE_SEC);
	if (f->ended)
		gone(w);
	else if (kill)
		kill_it(w);
}

static void
broken(struct worker *w, const char *why)
{
	struct files *f = files_of(w);

	log_warn("session=%lu box-files is ended: %s", w->about.id, why);
	snprintf(f->why, sizeof(f->why), "%s", why);
	leave(w, true);
}

/*
 * It may be stopped from inside, and init may be frozen.  Neither is a reason to end the
 * sandbox, but nobody is kept waiting for it.
 */
static void
on_overdue(struct worker *w)
{
	struct files *f = files_of(w);
	struct err    e;

	if (f->killed) {
		err_set(&e, E_CRASH, "the sandbox's init did not answer within %.0f s", LIM_OVERDUE_SEC);
		fail_calls(w, false, &e);
	} else {
		kill_it(w);
		expect(w, LIM_OVERDUE_SEC);
	}
}

static void
on_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct worker *w = t->data;
	struct files  *f = files_of(w);
	char           why[64];

	snprintf(why, sizeof(why), "it did not answer within %.0f s", LIM_FILES_ANSWER_SEC);
	if (f->state == FILES_GOING)
		on_overdue(w);
	else if (f->nsent > 0)
		broken(w, why);
	else
		leave(w, false);
}

/* ---- starting ------------------------------------------------------------------------ */

static int
spawn_send(struct worker *w, int channel, struct err *e)
{
	const struct msg_spec *spec = &w->about.spec;
	struct files          *f = files_of(w);
	char                   session[32];
	const char            *argv[] = {
			   "box-files",
			   mounts_workdir(spec),
			   session,
                mounts_private(spec) ? "plain" : "sync", /* a private workspace goes with the machine anyway */
			   NULL,
	};
	struct msg_spawn s;

	snprintf(session, sizeof(session), "%lu", w->about.id);
	msg_defaults(MSG_SPAWN, &s);
	s.argv = (struct strs){ 4, argv };
	s.workdir = "/";
	s.keep_bytes = KEEP_BYTES;
	s.stdin = channel;
	s.program = f->program;
	cgroup_slot_spawn(&w->cgroup, f->slot, &s);
	return link_send(w->down, MSG_SPAWN, f->id, 0, &s, e);
}

/* What it is asked can be sent before it runs: the channel is there. */
static int
files_start(struct worker *w, struct err *e)
{
	struct files   *f = files_of(w);
	int             ends[2];
	static unsigned count;

	f->slot = -1;
	if (cgroup_has_slots(&w->cgroup) && (f->slot = cgroup_slot_take(&w->cgroup, e)) == -1)
		return -1;
	if (chan_pair(ends, e) == -1)
		return -1;
	AUTO_FD int ours = ends[0], theirs = ends[1];
	/* a worker that takes over counts from elsewhere: what is left of the one before has another number */
	f->id = FILES_ID | (((uint64_t)ev_time() << 8 | (count++ & 0xff)) << 1 & ~FILES_ID_MASK);
	f->ended = f->killed = false;
	f->why[0] = '\0';
	f->oom_kills = cgroup_events(&w->cgroup).oom_kills;
	if (spawn_send(w, theirs, e) == -1 ||
	    (f->link = link_open(w->loop, ours, FROM_FILES, &files_ops, w, e)) == NULL) {
		cgroup_slot_done(&w->cgroup, f->slot, true);
		return -1;
	}
	fd_take(&ours);
	f->state = FILES_UP;
	return 0;
}

static void
push(struct worker *w)
{
	struct files     *f = files_of(w);
	struct file_call *c;
	struct err        e = { 0 };

	TAILQ_FOREACH (c, &f->calls, next) {
		if (f->nsent >= LIM_FILES_BUSY)
			break;
		if (c->sent)
			continue;
		c->sent = true;
		f->nsent++;
		/* for a channel that is gone it counts as sent: it fails with the others */
		if (link_send_packet(f->link, &c->packet, &e) == -1)
			log_debug("session=%lu box-files: %s", w->about.id, e.text);
	}
	expect(w, f->nsent > 0 ? LIM_FILES_ANSWER_SEC : LIM_FILES_IDLE_SEC);
}

/* One is there, or comes. */
static int
ensure(struct worker *w, struct err *e)
{
	struct files *f = files_of(w);

	if (f->state == FILES_NONE && files_start(w, e) == -1)
		return -1;
	if (f->state == FILES_UP)
		push(w);
	else if (!ev_is_active(&f->timer))
		expect(w, LIM_OVERDUE_SEC);
	return 0;
}

int
files_request(struct worker *w, struct msg *m, struct err *e)
{
	struct files *f = files_of(w);

	if (f->ncalls >= LIM_FILES_WAITING)
		return err_session(e, E_BUSY, "%zu file requests are waiting in session %s", f->ncalls, w->name);
	struct file_call *c = calloc(1, sizeof(*c));
	if (c == NULL)
		return err_set(e, E_SYS, "no memory for a file request");
	c->id = m->id;
	c->type = m->type;
	TAILQ_INSERT_TAIL(&f->calls, c, next);
	f->ncalls++;
	if (msg_encode(&c->packet, m->type, m->id, 0, m->body, e) == -1 || ensure(w, e) == -1) {
		call_drop(f, c);
		return -1;
	}
	return 0;
}

/* ---- what it says -------------------------------------------------------------------- */

static int
pass_up(struct worker *w, struct file_call *c, struct msg *m, struct err *e)
{
	enum msg_type result = msg_def(c->type)->result;

	if (m->failed) {
		link_tell_failure(w->up, c->id, 0, &m->error);
		return 0;
	}
	if (msg_expect(m, result, e) == -1)
		return -1;
	link_tell_reply(w->up, result, c->id, 0, m->body);
	return 0;
}

static void
on_msg(void *arg, struct msg *m)
{
	struct worker    *w = arg;
	struct files     *f = files_of(w);
	struct file_call *c = m->envelope == ENV_REPLY ? call_sent(f, m->id) : NULL;
	struct err        e = { 0 };

	if (c == NULL) {
		broken(w, "it said what it was not asked");
	} else if (pass_up(w, c, m, &e) == -1) {
		broken(w, e.text);
	} else {
		call_drop(f, c);
		push(w);
	}
}

/* ---- its end ------------------------------------------------------------------------- */

static void
gone(struct worker *w)
{
	struct files *f = files_of(w);
	struct err    e = { 0 };

	cgroup_slot_done(&w->cgroup, f->slot, true);
	f->state = FILES_NONE;
	ev_timer_stop(w->loop, &f->timer);
	if (f->nsent > 0) {
		err_set(&e, E_CRASH,
		    "box-files, which does this inside the sandbox, died: %.500s; the request may have "
		    "been done or not, and what was open must be opened again",
		    f->why[0] != '\0' ? f->why : "it ended by itself");
		fail_calls(w, true, &e);
	}
	if (f->ncalls > 0 && ensure(w, &e) == -1)
		fail_calls(w, false, &e);
}

static void
on_gone(void *arg, const struct err *why)
{
	struct worker *w = arg;

	if (why->code != E_NONE)
		broken(w, why->text);
	else
		leave(w, true);
}

/* It runs among the sandbox's own processes: one that says what it may not is not heard any further. */
static void
on_bad(void *arg, const struct err *why)
{
	broken(arg, why->text);
}

static const struct link_ops files_ops = { on_msg, on_gone, on_bad };

/* From init's report; the first reason stays, because later ones may be only consequences. */
static void
explain(struct worker *w, struct msg *m)
{
	struct files                 *f = files_of(w);
	struct err                    e = { 0 };
	const struct msg_exec_result *r = NULL;

	if (f->why[0] != '\0')
		return;
	if (!m->failed && msg_expect(m, MSG_EXEC_RESULT, &e) == 0)
		r = m->body;
	if (m->failed)
		snprintf(f->why, sizeof(f->why), "it could not be started: %.900s", m->error.text);
	else if (r == NULL)
		snprintf(f->why, sizeof(f->why), "%s", e.text);
	else if (r->cause == CAUSE_SPAWN || r->cause == CAUSE_PIDS)
		snprintf(
		    f->why, sizeof(f->why), "it could not be started: %.900s", log_escape(r->error, strlen(r->error)));
	else if (r->signal == SIGKILL && cgroup_events(&w->cgroup).oom_kills > f->oom_kills)
		snprintf(f->why, sizeof(f->why), "the session's memory limit was reached");
	else if (r->signal != 0)
		snprintf(f->why, sizeof(f->why), "it was killed by signal %lu", r->signal);
	else if (r->exit_code > 0 && r->stderr.len == 0)
		snprintf(f->why, sizeof(f->why), "it ended with exit code %ld", r->exit_code);
	else if (r->exit_code > 0 && r->stderr.data != NULL)
		snprintf(f->why, sizeof(f->why), "%s", log_escape(r->stderr.data, r->stderr.len));
}

bool
files_result(struct worker *w, struct msg *m)
{
	struct files *f = files_of(w);

	if ((m->id & FILES_ID_MASK) != FILES_ID)
		return false;
	if (m->id & CANCEL_BIT)
		return true;
	if (m->id == f->id && f->state != FILES_NONE) {
		explain(w, m);
		f->ended = true;
		if (f->state == FILES_GOING)
			gone(w);
		/* else its last answers are still in the channel, and its end behind them */
	}
	link_tell(w->down, MSG_RELEASE, 0, 0, &(struct msg_release){ .exec = m->id });
	return true;
}

/* ---- the rest ------------------------------------------------------------------------ */

void
files_adopt(struct worker *w, struct msg_attached *known)
{
	size_t n = 0;

	for (size_t i = 0; i < known->execs.n; i++) {
		uint64_t          id = known->execs.v[i].exec;
		struct msg_cancel cancel = { .call = id };

		if ((id & FILES_ID_MASK) == FILES_ID)
			link_tell(w->down, MSG_CANCEL, id | CANCEL_BIT, 0, &cancel);
		else
			known->execs.v[n++] = known->execs.v[i];
	}
	known->execs.n = n;
}

bool
files_running(const struct worker *w)
{
	return w->files.state != FILES_NONE && !w->files.ended;
}

void
files_fail_all(struct worker *w, const struct err *why)
{
	struct files *f = files_of(w);

	fail_calls(w, false, why);
	ev_timer_stop(w->loop, &f->timer);
	link_close(&f->link);
	f->state = FILES_NONE;
}

void
files_init(struct worker *w, int program)
{
	struct files *f = files_of(w);

	*f = (struct files){ .program = program, .slot = -1 };
	TAILQ_INIT(&f->calls);
	ev_timer_init(&f->timer, on_timer, 0., 0.);
	f->timer.data = w;
}

void
files_clear(struct worker *w)
{
	struct err why = { .code = E_SHUTDOWN };

	files_fail_all(w, &why);
	fd_close(&w->files.program);
}
