/*
 * Commands: a client's exec becomes a spawn for init, init's result becomes the
 * reply.  The exec's id is the supervisor's request id all the way down, so that a
 * worker that takes over after a crash has nothing to translate.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/memfd.h"
#include "wire/detail.h"
#include "worker.h"

struct exec {
	LIST_ENTRY(exec) next;
	uint64_t             id;
	int                  slot;   /* its cgroups; -1 without */
	int                  mounts; /* owned; its mount namespace, or -1: to be torn down when it was answered */
	struct cgroup_events before;
	struct worker       *worker;
	ev_timer             due;     /* runs when init must kill it by some time, and then answer */
	bool                 is_late; /* that time has come */

	/* under a watched quota */
	struct err            *over;   /* owned; why it is being killed, or NULL */
	bool                   ended;  /* the result waits for the workspace to be measured */
	struct msg_exec_result result; /* borrows from the next */
	struct owned_msg       kept;
};

static const struct pair base_env[] = {
	{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
	{ "HOME", "/home" },
	{ "USER", "root" },
	{ "LOGNAME", "root" },
	{ "SHELL", "/bin/sh" },
	{ "LANG", "C.UTF-8" },
	{ "TMPDIR", "/tmp" },
};

enum { BASE_ENV = sizeof(base_env) / sizeof(*base_env) };

static struct exec *
exec_find(struct worker *w, uint64_t id)
{
	struct exec *x;

	LIST_FOREACH (x, &w->execs, next)
		if (x->id == id)
			return x;
	return NULL;
}

static void
arm(struct exec *x, double sec)
{
	ev_timer_stop(x->worker->loop, &x->due);
	ev_timer_set(&x->due, sec, 0.);
	ev_timer_start(x->worker->loop, &x->due);
}

/* Init is killing it. */
static void
expect_answer(struct exec *x)
{
	x->is_late = true;
	cgroup_slot_let_die(&x->worker->cgroup, x->slot);
	arm(x, LIM_OVERDUE_SEC);
}

/*
 * Init keeps the deadlines.  Should something inside manage to stop init itself,
 * nobody would: so it is watched, and a hung init costs the sandbox.
 */
static void
on_due(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct exec *x = t->data;
	struct err   e;

	if (!x->is_late) {
		expect_answer(x);
		return;
	}
	err_set(&e, E_CRASH, "the sandbox's init did not answer within %.0f s; the sandbox is ended", LIM_OVERDUE_SEC);
	worker_broken(x->worker, &e);
}

/* A command without a timeout, or a process, would wait for a hung init for ever; so init is asked now and then. */
static void
on_pulse(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct worker *w = t->data;
	struct err     e = { 0 };

	if (w->asked) {
		err_set(
		    &e, E_CRASH, "the sandbox's init did not answer for %.0f s; the sandbox is ended", LIM_PULSE_SEC);
		worker_broken(w, &e);
		return;
	}
	w->asked = link_send(w->down, MSG_PING, PULSE_PING, 0, &(struct msg_ping){}, &e) == 0;
}

void
pulse_update(struct worker *w)
{
	if (LIST_EMPTY(&w->execs) && processes_live(w) == 0)
		ev_timer_stop(w->loop, &w->pulse);
	if (ev_is_active(&w->pulse) || (LIST_EMPTY(&w->execs) && processes_live(w) == 0))
		return;
	w->asked = false;
	ev_timer_init(&w->pulse, on_pulse, LIM_PULSE_SEC, LIM_PULSE_SEC);
	w->pulse.data = w;
	ev_timer_start(w->loop, &w->pulse);
}

static struct exec *
exec_add(struct worker *w, uint64_t id, int slot)
{
	struct exec *x = calloc(1, sizeof(*x));

	if (x == NULL)
		return NULL;
	x->id = id;
	x->slot = slot;
	x->mounts = -1;
	x->worker = w;
	ev_timer_init(&x->due, on_due, 0., 0.);
	x->due.data = x;
	x->before = cgroup_slot_events(&w->cgroup, slot);
	LIST_INSERT_HEAD(&w->execs, x, next);
	pulse_update(w);
	return x;
}

static void
exec_drop(struct worker *w, struct exec *x, bool killed)
{
	cgroup_slot_done(&w->cgroup, x->slot, killed);
	ev_timer_stop(w->loop, &x->due);
	LIST_REMOVE(x, next);
	pulse_update(w);
	owned_msg_clear(&x->kept);
	fd_close(&x->mounts);
	free(x->over);
	free(x);
}

/* ---- the environment --------------------------------------------------------- */

static bool
is_set(const struct pairs *env, const char *name)
{
	for (size_t i = 0; i < env->n; i++)
		if (strcmp(env->v[i].name, name) == 0)
			return true;
	return false;
}

int
env_check(const struct pairs *env, const char *field, struct err *e)
{
	for (size_t i = 0; i < env->n; i++)
		if (*env->v[i].name == '\0' || strchr(env->v[i].name, '=') != NULL)
			return err_set(e, E_INVALID, "%s: '%s' is not a variable's name", field,
			    log_escape(env->v[i].name, strlen(env->v[i].name)));
	return 0;
}

/* "NAME=value" strings, back to back in *text; -1 without memory. */
int
env_build(const struct pairs *env, struct buf *text, struct strs *out)
{
	size_t       n = 0, at = 0;
	const char **v = calloc(env->n + BASE_ENV + 1, sizeof(*v));

	if (v == NULL)
		return -1;
	for (size_t i = 0; i < BASE_ENV + env->n; i++) {
		const struct pair *p = i < BASE_ENV ? &base_env[i] : &env->v[i - BASE_ENV];

		if (i < BASE_ENV && is_set(env, p->name))
			continue;
		buf_printf(text, "%s=%s", p->name, p->value);
		buf_append(text, "", 1);
		n++;
	}
	*out = (struct strs){ n, v };
	if (text->failed)
		return -1;
	for (size_t i = 0; i < n; i++) {
		v[i] = text->data + at;
		at += strlen(v[i]) + 1;
	}
	return 0;
}

/* ---- starting ------------------------------------------------------------------ */

/* A sealed file is a command's standard input: nothing to pump, nothing to lose. */
static int
stdin_open(const struct blob *in, struct err *e)
{
	struct buf bytes = { 0 };

	if (in->data != NULL)
		return memfd_of("stdin", in->data, in->len, e);
	if (blob_read(in, &bytes, e) == -1)
		return -1;
	int fd = memfd_of("stdin", bytes.data, bytes.len, e);
	buf_clear(&bytes);
	return fd;
}

/*
 * A command that does not fit one argument is a file that the shell sources: $0, standard input, exit codes and line
 * numbers are those of sh -lc.  The shell has the file open a second time by then, so the first line closes the
 * descriptor before any part of the command runs.
 */
static int
script_open(const char *command, struct err *e)
{
	struct buf text = { 0 };

	buf_printf(&text, "exec 9<&-; ");
	buf_append(&text, command, strlen(command));
	int fd = text.failed ? err_set(e, E_SYS, "no memory for a command")
			     : memfd_of("script", text.data, text.len, e);
	buf_clear(&text);
	return fd;
}

static int
spawn_send(struct worker *w, const struct msg_exec *x, struct exec *record, struct msg_spawn *s, struct err *e)
{
	struct buf  text = { 0 };
	AUTO_FD int in = -1;

	s->workdir = *x->workdir ? x->workdir : mounts_workdir(&w->about.spec);
	s->timeout_ms = x->timeout_ms;
	s->keep_bytes = x->keep_bytes;
	s->window = x->window;
	s->mounts = record->mounts;
	cgroup_slot_spawn(&w->cgroup, record->slot, s);
	int r = env_build(&x->env, &text, &s->env) == -1 ? err_set(e, E_SYS, "no memory for the environment") : 0;
	if (r == 0 && (x->stdin.data != NULL || x->stdin.len > 0)) {
		in = stdin_open(&x->stdin, e);
		r = in == -1 ? -1 : 0;
	}
	s->stdin = in;
	if (r == 0)
		r = link_send(w->down, MSG_SPAWN, record->id, 0, s, e);
	free(s->env.v);
	buf_clear(&text);
	return r;
}

static int
exec_check(const struct msg_exec *x, struct err *e)
{
	if ((*x->command != '\0') == (x->argv.n > 0))
		return err_set(e, E_INVALID, "exec: give either command or argv");
	if (x->argv.n > 0 && *x->argv.v[0] == '\0')
		return err_set(e, E_INVALID, "exec.argv: the program's name is empty");
	if (*x->workdir != '\0' && *x->workdir != '/')
		return err_set(e, E_INVALID, "exec.workdir: '%s' is not an absolute path",
		    log_escape(x->workdir, strlen(x->workdir)));
	return env_check(&x->env, "exec.env", e);
}

int
exec_start(struct worker *w, struct msg *m, int mounts, struct err *e)
{
	const struct msg_exec *x = m->body;
	struct msg_spawn       s;
	int                    slot = -1;

	if (exec_check(x, e) == -1)
		return -1;
	if (w->pause != RUNNING) { /* it waited for its mounts, or to be measured: see pause.c */
		err_session(e, E_STATE, "session %s was paused before the command was started; nothing ran", w->name);
		return err_because(e, REASON_PAUSED, FIELD_NONE, 0);
	}
	if (cgroup_has_slots(&w->cgroup) && (slot = cgroup_slot_take(&w->cgroup, e)) == -1)
		return -1;
	struct exec *record = exec_add(w, m->id, slot);
	if (record == NULL) {
		cgroup_slot_done(&w->cgroup, slot, false);
		return err_set(e, E_SYS, "no memory for a command");
	}
	record->mounts = mounts == -1 ? -1 : fcntl(mounts, F_DUPFD_CLOEXEC, 0);
	bool        is_long = strlen(x->command) > LIM_ARG;
	AUTO_FD int script = is_long ? script_open(x->command, e) : -1;
	const char *shell[] = { "/bin/sh", "-lc", is_long ? ". /proc/self/fd/9" : x->command, NULL };
	msg_defaults(MSG_SPAWN, &s);
	s.argv = x->argv.n > 0 ? x->argv : (struct strs){ 3, shell };
	s.script = script;
	if ((is_long && script == -1) || spawn_send(w, x, record, &s, e) == -1) {
		exec_drop(w, record, false);
		return -1;
	}
	if (x->timeout_ms > 0)
		arm(record, (double)x->timeout_ms / 1e3);
	return 0;
}

/* ---- while it runs --------------------------------------------------------------- */

int
exec_cancel(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_cancel *c = m->body;
	struct exec             *x = exec_find(w, c->call);
	struct msg_done          done;

	if (x == NULL && w->watch != NULL && watch_cancel(w->watch, c->call) == 0)
		return link_reply(w->up, MSG_DONE, m->id, 0, &done, e);
	if (x == NULL)
		return err_set(e, E_NOTFOUND, "no such command is running");
	if (link_send(w->down, MSG_CANCEL, m->id, 0, c, e) == -1)
		return -1;
	expect_answer(x);
	return link_reply(w->up, MSG_DONE, m->id, 0, &done, e);
}

bool
exec_running(const struct worker *w)
{
	const struct exec *x;

	LIST_FOREACH (x, &w->execs, next)
		if (!x->ended)
			return true;
	return false;
}

static struct err *
copy_of(const struct err *e)
{
	struct err *copy = malloc(sizeof(*copy));

	return copy == NULL ? NULL : memcpy(copy, e, sizeof(*copy));
}

void
exec_kill_all(struct worker *w, const struct err *why)
{
	struct exec *x;

	LIST_FOREACH (x, &w->execs, next) {
		if (x->ended || x->over != NULL || (x->over = copy_of(why)) == NULL)
			continue;
		link_tell(w->down, MSG_CANCEL, QUOTA_KILL, 0, &(struct msg_cancel){ .call = x->id });
		expect_answer(x);
	}
}

int
exec_output(struct worker *w, const struct msg_output *o, struct err *e)
{
	return link_send(w->up, MSG_OUTPUT, 0, 0, o, e);
}

int
exec_ack(struct worker *w, const struct msg_output_ack *a, struct err *e)
{
	return link_send(w->down, MSG_OUTPUT_ACK, 0, 0, a, e);
}

int
exec_detach(struct worker *w, const struct msg_detach *d, struct err *e)
{
	return link_send(w->down, MSG_DETACH, 0, 0, d, e);
}

/* ---- the end ----------------------------------------------------------------------- */

/*
 * Init sees a signal or a failed fork; only the counters of the command's own cgroups
 * know that a limit was behind it.  A limit that hit a part of a command which then
 * ended well was not the cause of its end.
 */
static enum cause
cause_behind(struct worker *w, const struct exec *x, const struct msg_exec_result *r)
{
	if ((r->cause != CAUSE_EXIT && r->cause != CAUSE_SIGNAL) || r->exit_code == 0)
		return r->cause;
	struct cgroup_events now = cgroup_slot_events(&w->cgroup, x->slot);
	if (now.oom_kills > x->before.oom_kills)
		return CAUSE_MEMORY;
	if (now.pids_refused > x->before.pids_refused)
		return CAUSE_PIDS;
	return r->cause;
}

/* The one reply to it. */
static void
exec_finish(struct worker *w, struct exec *x, struct msg_exec_result *r)
{
	bool killed = r->cause == CAUSE_TIMEOUT || r->cause == CAUSE_CANCELLED || r->cause == CAUSE_MEMORY;

	r->session = w->name;
	if (x->over != NULL) {
		r->error = x->over->text;
		r->detail = detail_of(x->over);
		if (r->cause != CAUSE_TIMEOUT)
			r->cause = CAUSE_DISK;
	}
	r->cause = cause_behind(w, x, r);
	link_tell_reply(w->up, MSG_EXEC_RESULT, x->id, 0, r);
	link_tell(w->down, MSG_RELEASE, 0, 0, &(struct msg_release){ .exec = x->id });
	exec_drop(w, x, killed);
}

/* Its result is known, but not yet whether what it left is too much. */
static int
hold_result(struct worker *w, struct exec *x, const struct msg_exec_result *r)
{
	struct err e;

	if (w->watch == NULL || x->over != NULL)
		return -1;
	x->result = *r;
	if (owned_msg_copy(&x->kept, MSG_EXEC_RESULT, &x->result, &e) == -1)
		return -1;
	x->ended = true;
	ev_timer_stop(w->loop, &x->due);
	watch_after(w->watch, x->id);
	return 0;
}

void
exec_measured(struct worker *w, uint64_t id, const struct err *over)
{
	struct exec *x = exec_find(w, id);

	if (x == NULL || !x->ended)
		return;
	if (over != NULL)
		x->over = copy_of(over);
	exec_finish(w, x, &x->result);
}

void
exec_result(struct worker *w, struct msg *m)
{
	struct exec *x = exec_find(w, m->id);
	struct err   e = { 0 };

	if (m->id == PULSE_PING)
		w->asked = false;
	if (x == NULL)
		return; /* that, the answer to a cancel, or of a command nobody waits for */
	if (m->failed || msg_expect(m, MSG_EXEC_RESULT, &e) == -1) {
		link_tell_failure(w->up, m->id, 0, m->failed ? &m->error : &e);
		link_tell(w->down, MSG_RELEASE, 0, 0, &(struct msg_release){ .exec = m->id });
		exec_drop(w, x, true);
		return;
	}
	struct msg_exec_result r = *(const struct msg_exec_result *)m->body;
	if (hold_result(w, x, &r) == -1)
		exec_finish(w, x, &r);
}

void
exec_resume(struct worker *w, uint64_t id)
{
	exec_add(w, id, -1);
}

/* Only init knows in which slot the worker before us had started it. */
static void
resume_in(struct worker *w, struct exec *x, int64_t slot)
{
	if (x == NULL || !cgroup_slot_retake(&w->cgroup, (int)slot))
		return;
	x->slot = (int)slot;
	x->before = cgroup_slot_events(&w->cgroup, x->slot);
}

static bool
is_listed(const struct msg_attached *a, uint64_t id)
{
	for (size_t i = 0; i < a->execs.n; i++)
		if (a->execs.v[i].exec == id)
			return true;
	return false;
}

/*
 * What is awaited and what init has: init has never heard of a command whose worker
 * died before it could ask; and after a crash of the supervisor nobody awaits those
 * that run, but they must be known to be counted and released.
 */
void
exec_match(struct worker *w, const struct msg_attached *a)
{
	struct exec *x = LIST_FIRST(&w->execs), *next;
	struct err   why;

	err_set(&why, E_UNSTARTED, "the session's worker crashed before the command was started; nothing ran");
	for (; x != NULL; x = next) {
		next = LIST_NEXT(x, next);
		if (is_listed(a, x->id))
			continue;
		link_tell_failure(w->up, x->id, 0, &why);
		exec_drop(w, x, true);
	}
	for (size_t i = 0; i < a->execs.n; i++) {
		if (a->execs.v[i].managed)
			continue;
		if (exec_find(w, a->execs.v[i].exec) == NULL)
			exec_resume(w, a->execs.v[i].exec);
		resume_in(w, exec_find(w, a->execs.v[i].exec), a->execs.v[i].slot);
	}
}

size_t
exec_list(const struct worker *w, struct msg_resume *list, size_t most)
{
	const struct exec *x;
	size_t             n = 0;

	LIST_FOREACH (x, &w->execs, next) {
		if (n == most)
			break;
		msg_defaults(MSG_RESUME, &list[n]);
		list[n++].exec = x->id;
	}
	return n;
}

void
exec_fail_all(struct worker *w, const struct err *why)
{
	if (w->watch != NULL)
		watch_fail_all(w->watch, why);
	while (!LIST_EMPTY(&w->execs)) {
		struct exec *x = LIST_FIRST(&w->execs);

		link_tell_failure(w->up, x->id, 0, why);
		exec_drop(w, x, true);
	}
}
