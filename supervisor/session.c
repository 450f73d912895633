#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "dirs.h"
#include "fd.h"
#include "gateway.h"
#include "log.h"
#include "machine.h"
#include "registry.h"
#include "request.h"
#include "restart.h"

struct session {
	struct house      *house;
	uint64_t           id;
	char               name[LIM_NAME + 1];
	struct msg_spec    spec;
	enum state         state;
	int                dir;   /* owned; its state directory */
	struct child      *child; /* owned; NULL between death and restart */
	struct restart     restart;
	ev_timer           again;    /* runs between death and restart of the worker */
	ev_timer           idle;     /* runs while READY and nothing is pending */
	ev_timer           patience; /* runs while we wait for the worker to get somewhere */
	struct requests    pending;  /* owned */
	uint32_t           uid_base;
	uint64_t           created_ms, last_used_ms;
	uint64_t           init_pid, build_us, execs, worker_restarts;
	struct msg_cgroups cgroups;         /* where its cgroups are */
	char              *cgroup_paths[4]; /* owned; of an adopted one, for the above */
	bool               spare;           /* built ahead, not claimed yet */
	uint64_t           claim_id;        /* the CLAIM that makes it READY, or 0 */
	char               why[ERR_TEXT];   /* CLOSING: the reason */
};

/* No client can say a name that begins with a dot. */
#define SPARE_PREFIX ".spare."

static const struct child_ops worker_ops;

static uint64_t
now_ms(void)
{
	return (uint64_t)(ev_time() * 1e3);
}

/* ---- looking at it -------------------------------------------------------------- */

const char *
session_name(const struct session *s)
{
	return s->name;
}

const struct msg_spec *
session_spec(const struct session *s)
{
	return &s->spec;
}

uint32_t
session_uid_base(const struct session *s)
{
	return s->uid_base;
}

struct msg_session_info
session_info(const struct session *s)
{
	return (struct msg_session_info){
		.session = s->name,
		.id = s->id,
		.state = s->state,
		.spec = s->spec,
		.isolation = s->house->machine->isolation,
		.created_ms = s->created_ms,
		.last_used_ms = s->last_used_ms,
		.running = requests_count(&s->pending, MSG_EXEC),
		.execs = s->execs,
		.worker_pid = s->child == NULL ? 0 : (uint64_t)child_pid(s->child),
		.init_pid = s->init_pid,
		.worker_restarts = s->worker_restarts,
		.build_us = s->build_us,
	};
}

bool
session_has_request(const struct session *s, uint64_t conn, uint64_t id)
{
	return request_find(&s->pending, conn, id) != NULL;
}

/* ---- timers ------------------------------------------------------------------------ */

/* Something happened, or a request came or went: idle time starts anew. */
static void
touch(struct session *s)
{
	s->last_used_ms = now_ms();
	ev_timer_stop(s->house->loop, &s->idle);
	if (s->state != STATE_READY || s->spare || s->spec.persistent || s->spec.idle_sec == 0 ||
	    !TAILQ_EMPTY(&s->pending))
		return;
	ev_timer_set(&s->idle, (double)s->spec.idle_sec, 0.);
	ev_timer_start(s->house->loop, &s->idle);
}

static void
on_idle(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	session_close(t->data, "idle");
}

/* The worker has its own deadlines; this one is for a worker that cannot keep them. */
static void
expect_progress(struct session *s, double sec)
{
	ev_timer_stop(s->house->loop, &s->patience);
	ev_timer_set(&s->patience, sec + 5., 0.);
	ev_timer_start(s->house->loop, &s->patience);
}

static void
on_patience(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct session *s = t->data;

	(void)loop;
	(void)revents;
	log_warn("session=%lu worker does not answer while %s", s->id,
	    msg_enum_name(MSG_SESSION_INFO, "state", (int)s->state));
	if (s->child != NULL)
		child_kill(s->child);
}

/* ---- the worker ---------------------------------------------------------------------- */

/* What the next worker must know of the commands in flight. */
static size_t
resume_list(const struct session *s, struct msg_resume *list)
{
	const struct request *r;
	size_t                n = 0;

	TAILQ_FOREACH (r, &s->pending, next)
		if (r->type == MSG_EXEC && r->held.bytes.len == 0)
			list[n++] = (struct msg_resume){
				.exec = r->exec,
				.stdout_offset = r->sent[STREAM_STDOUT],
				.stderr_offset = r->sent[STREAM_STDERR],
				.wanted = r->conn != 0,
			};
	return n;
}

static int
worker_start(struct session *s, enum work work, struct err *e)
{
	const struct machine   *m = s->house->machine;
	struct msg_worker_start start;

	char program[PATH_MAX + 16];

	snprintf(program, sizeof(program), "%s/box-session", s->house->dirs->libexec);
	s->child = child_spawn(s->house->loop, program, FROM_WORKER, &worker_ops, s, e);
	if (s->child == NULL)
		return -1;
	msg_defaults(MSG_WORKER_START, &start);
	start.work = work;
	start.id = s->id;
	start.session = s->name;
	start.spec = s->spec;
	start.cgroups = s->cgroups;
	start.dir = s->dir;
	start.uid_base = s->uid_base;
	start.uid_count = m->root ? 65536 : 1;
	start.created_ms = s->created_ms;
	start.tmp_mb = s->house->config->tmp_mb;
	start.inodes = s->house->config->inodes;
	if (work == WORK_BUILD) {
		start.skeleton = s->house->dirs->skeleton;
		start.init = m->init;
		start.filter = m->filter;
	}
	struct msg_resume *list = calloc(LIM_EXECS, sizeof(*list));
	if (list == NULL)
		return err_set(e, E_SYS, "no memory for a worker's start");
	start.resume.v = list;
	start.resume.n = work == WORK_ADOPT ? resume_list(s, list) : 0;
	int r = link_send(child_link(s->child), MSG_WORKER_START, 0, 0, &start, e);
	free(list);
	if (r == 0)
		log_debug("session=%lu worker=%d %s", s->id, child_pid(s->child),
		    msg_enum_name(MSG_WORKER_START, "work", (int)work));
	return r;
}

static int
send_close(struct session *s, struct err *e)
{
	expect_progress(s, LIM_CLOSE_SEC);
	return link_send(child_link(s->child), MSG_CLOSE, house_next_id(s->house), 0, &(struct msg_close){}, e);
}

static void start_again_later(struct session *s);

/* Adopt the living sandbox, or sweep what is left of a closing one. */
static void
start_again(struct session *s)
{
	struct err e = { 0 };
	bool       closing = s->state == STATE_CLOSING;

	if (worker_start(s, closing ? WORK_SWEEP : WORK_ADOPT, &e) == 0 && (!closing || send_close(s, &e) == 0)) {
		if (!closing)
			expect_progress(s, LIM_BUILD_SEC);
		return;
	}
	log_error("session=%lu %s", s->id, e.text);
	child_close(&s->child);
	start_again_later(s);
}

/* From the loop, so that whoever made the session can seat it in the registry first. */
static void
start_again_soon(struct session *s)
{
	ev_timer_set(&s->again, 0., 0.);
	ev_timer_start(s->house->loop, &s->again);
}

static void
on_again(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	start_again(t->data);
}

/* ---- the end --------------------------------------------------------------------------- */

static void
remove_dir(const struct session *s)
{
	char name[32];

	snprintf(name, sizeof(name), "%lu", s->id);
	if (unlinkat(s->house->dirs->sessions, name, AT_REMOVEDIR) == -1 && errno != ENOENT)
		log_warn("session=%lu state directory stays: %s", s->id, strerror(errno));
}

/* Nothing of it is left, or nothing more can be done: tell those who wait, and go. */
static void
finish(struct session *s, uint64_t killed)
{
	struct msg_deleted deleted = { .session = s->name, .killed = killed };
	struct request    *r, *next;

	remove_dir(s);
	log_at(s->spare ? LOG_DEBUG : LOG_INFO, "session=%lu name=%s gone killed=%lu reason=\"%s\"", s->id, s->name,
	    killed, s->why);
	requests_reply_all(&s->pending, MSG_DELETE, s->house->gateway, MSG_DELETED, &deleted);
	for (r = TAILQ_FIRST(&s->pending); r != NULL; r = next) { /* replies that waited for this */
		next = TAILQ_NEXT(r, next);
		if (r->conn != 0)
			gateway_send(s->house->gateway, &r->held);
		request_drop(&s->pending, r);
	}
	registry_remove(s->house->registry, s); /* frees s */
}

/* Fail what waits for this sandbox to work; who waits for its end goes on waiting. */
static void
fail_work(struct session *s, const struct err *why)
{
	s->house->running -= requests_count(&s->pending, MSG_EXEC);
	requests_fail_all(&s->pending, MSG_EXEC, s->house->gateway, why);
	requests_fail_all(&s->pending, MSG_CREATE, s->house->gateway, why);
}

static void
begin_closing(struct session *s, const struct err *why)
{
	struct err e = { 0 };

	if (s->state == STATE_CLOSING)
		return;
	snprintf(s->why, sizeof(s->why), "%s", why->text);
	fail_work(s, why);
	s->state = STATE_CLOSING;
	s->restart = (struct restart){ 0 };
	ev_timer_stop(s->house->loop, &s->idle);
	ev_timer_stop(s->house->loop, &s->again);
	if (s->child == NULL || send_close(s, &e) == -1) {
		child_close(&s->child);
		start_again(s);
	}
}

void
session_close(struct session *s, const char *why)
{
	struct err e;

	err_set(&e, s->house->stopping ? E_SHUTDOWN : E_STATE, "session %s is closed: %s", s->name, why);
	begin_closing(s, &e);
}

static void
start_again_later(struct session *s)
{
	const struct restart_policy policy = {
		.first_sec = 0.1,
		.most_sec = 5,
		.window_sec = (double)s->house->config->worker_restart_window_sec,
		.limit = (unsigned)s->house->config->worker_restarts,
	};
	double     delay = restart_after_crash(&s->restart, &policy, ev_now(s->house->loop));
	struct err e;

	if (delay < 0 && s->state == STATE_CLOSING) {
		log_error("session=%lu leftovers stay until the next start of boxd", s->id);
		finish(s, 0);
	} else if (delay < 0) {
		err_set(&e, E_CRASH, "session %s failed: its worker crashed %u times within %.0f s", s->name,
		    s->restart.recent, policy.window_sec);
		begin_closing(s, &e);
	} else {
		ev_timer_set(&s->again, delay, 0.);
		ev_timer_start(s->house->loop, &s->again);
	}
}

/* ---- what a worker says ---------------------------------------------------------------- */

static void
send_held(struct session *s)
{
	struct request *r;
	struct err      e = { 0 };

	TAILQ_FOREACH (r, &s->pending, next)
		if (r->type == MSG_EXEC && r->held.bytes.len > 0)
			link_send_packet(child_link(s->child), &r->held, &e);
}

static void
become_ready(struct session *s, const char *how)
{
	log_at(s->spare ? LOG_DEBUG : LOG_INFO, "session=%lu name=%s %s worker=%d init=%lu build_us=%lu", s->id,
	    s->name, how, child_pid(s->child), s->init_pid, s->build_us);
	s->state = STATE_READY;
	struct msg_session_info info = session_info(s);
	requests_reply_all(&s->pending, MSG_CREATE, s->house->gateway, MSG_SESSION_INFO, &info);
	send_held(s);
	touch(s);
}

static void
on_worker_ready(struct session *s, struct msg *m)
{
	const struct msg_worker_ready *ready = m->body;

	if (s->state != STATE_STARTING && s->state != STATE_RESTARTING)
		return;
	ev_timer_stop(s->house->loop, &s->patience);
	for (size_t i = 0; i < ready->execs.n; i++)
		if (request_by_exec(&s->pending, ready->execs.v[i].exec) == NULL &&
		    request_add_orphan(&s->pending, ready->execs.v[i].exec) != NULL)
			s->house->running++;
	s->init_pid = ready->init_pid;
	s->build_us = ready->build_us;
	become_ready(s, s->state == STATE_STARTING ? "ready" : "attached");
}

static void
on_worker_failed(struct session *s, struct msg *m)
{
	const struct msg_worker_failed *f = m->body;
	enum err_code                   code = err_from_wire(f->code, strlen(f->code));
	struct err                      e;

	log_error("session=%lu name=%s failed: %s", s->id, s->name, f->reason);
	err_set(&e, code == E__COUNT ? E_CRASH : code, "session %s failed: %s", s->name, f->reason);
	begin_closing(s, &e);
}

static void
on_output(struct session *s, struct msg *m)
{
	struct msg_output o = *(const struct msg_output *)m->body;
	struct request   *r = request_by_exec(&s->pending, o.call);

	if (r == NULL || r->conn == 0)
		return;
	r->sent[o.stream] = o.offset + o.data.len;
	o.call = r->id;
	gateway_notice(s->house->gateway, MSG_OUTPUT, r->conn, &o);
}

/* The client asked that a timeout end the session: its reply comes after that. */
static void
drop_after_timeout(struct session *s, struct request *r, const struct msg_exec_result *result)
{
	struct err e = { 0 };

	if (msg_encode_reply(&r->held, MSG_EXEC_RESULT, r->id, r->conn, result, &e) == -1) {
		request_fail(&s->pending, r, s->house->gateway, &e);
	} else {
		r->type = MSG_NONE; /* neither running nor to be failed */
	}
	session_close(s, "a command timed out");
}

static void
on_exec_reply(struct session *s, struct request *r, struct msg *m)
{
	struct err e = { 0 };

	s->house->running--;
	s->house->execs++;
	s->execs++;
	if (m->failed || msg_expect(m, MSG_EXEC_RESULT, &e) == -1) {
		request_fail(&s->pending, r, s->house->gateway, m->failed ? &m->error : &e);
		touch(s);
		return;
	}
	const struct msg_exec_result *result = m->body;
	log_debug("session=%lu exec=%lu ended cause=%s code=%ld signal=%lu killed=%lu us=%lu", s->id, r->exec,
	    msg_enum_name(MSG_EXEC_RESULT, "cause", (int)result->cause), result->exit_code, result->signal,
	    result->killed, result->duration_us);
	if (result->cause == CAUSE_TIMEOUT && r->on_timeout == ON_TIMEOUT_DROP) {
		drop_after_timeout(s, r, result);
		return;
	}
	request_reply(&s->pending, r, s->house->gateway, MSG_EXEC_RESULT, result);
	touch(s);
}

static void
on_claimed(struct session *s, const struct msg *m)
{
	ev_timer_stop(s->house->loop, &s->patience);
	s->claim_id = 0;
	if (m->failed)
		begin_closing(s, &m->error);
	else
		become_ready(s, "claimed");
}

/* A worker answers EXEC, CLAIM and CLOSE; the answer to a CANCEL has been given already. */
static void
on_reply(struct session *s, struct msg *m)
{
	struct request *r = request_by_exec(&s->pending, m->id);
	struct err      e = { 0 };

	if (s->claim_id != 0 && m->id == s->claim_id && s->state == STATE_STARTING) {
		on_claimed(s, m);
	} else if (r != NULL) {
		on_exec_reply(s, r, m);
	} else if (s->state == STATE_CLOSING && !m->failed && msg_expect(m, MSG_CLOSED, &e) == 0) {
		finish(s, ((const struct msg_closed *)m->body)->killed);
	} else if (s->state == STATE_CLOSING && m->failed && m->error.code == E_SYS) {
		log_error("session=%lu %s", s->id, m->error.text);
		finish(s, 0);
	}
}

static void
on_worker_msg(void *arg, struct msg *m)
{
	struct session *s = arg;

	if (m->envelope == ENV_REPLY)
		on_reply(s, m);
	else if (m->type == MSG_WORKER_READY)
		on_worker_ready(s, m);
	else if (m->type == MSG_WORKER_FAILED)
		on_worker_failed(s, m);
	else if (m->type == MSG_OUTPUT)
		on_output(s, m);
}

static void
on_worker_gone(void *arg, int status)
{
	struct session *s = arg;
	struct err      e;

	log_warn("session=%lu worker=%d gone %s while %s", s->id, child_pid(s->child), child_status(status),
	    msg_enum_name(MSG_SESSION_INFO, "state", (int)s->state));
	child_close(&s->child);
	ev_timer_stop(s->house->loop, &s->patience);
	if (s->state == STATE_STARTING || (s->spare && s->state == STATE_READY)) {
		err_set(
		    &e, E_CRASH, "the session's worker died (%s) before the sandbox was ready", child_status(status));
		begin_closing(s, &e);
		return;
	}
	if (s->state == STATE_READY) {
		s->state = STATE_RESTARTING;
		ev_timer_stop(s->house->loop, &s->idle);
	}
	s->worker_restarts++;
	s->house->worker_restarts++;
	start_again_later(s);
}

static const struct child_ops worker_ops = { on_worker_msg, on_worker_gone };

/* ---- what a client wants ------------------------------------------------------------------ */

static int
on_create(struct session *s, const struct msg *m, struct err *e)
{
	struct msg_session_info info = session_info(s);

	if (s->state != STATE_READY) {
		if (request_add(&s->pending, m) == NULL)
			return err_set(e, E_SYS, "no memory for a request");
		return 0;
	}
	info.reused = true;
	gateway_reply(s->house->gateway, MSG_SESSION_INFO, m->conn, m->id, &info);
	touch(s);
	return 0;
}

/* Where there is no worker to take it now, the next one will. */
static int
send_or_hold(struct session *s, struct request *r, const struct msg_exec *x, struct err *e)
{
	if (s->state == STATE_READY) {
		if (link_send(child_link(s->child), MSG_EXEC, r->exec, 0, x, e) == 0)
			return 0;
		if (e->code != E_CRASH)
			return -1;
	}
	return msg_encode(&r->held, MSG_EXEC, r->exec, 0, x, e);
}

static int
on_exec(struct session *s, const struct msg *m, struct err *e)
{
	const struct msg_exec *x = m->body;
	struct request        *r;

	if (requests_count(&s->pending, MSG_EXEC) >= LIM_EXECS)
		return err_set(e, E_CAPACITY, "%d commands are running in session %s already", LIM_EXECS, s->name);
	if ((r = request_add(&s->pending, m)) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	r->exec = house_next_id(s->house);
	r->streamed = x->window > 0;
	r->on_timeout = x->on_timeout;
	if (send_or_hold(s, r, x, e) == -1) {
		request_drop(&s->pending, r);
		return -1;
	}
	s->house->running++;
	touch(s);
	return 0;
}

static int
on_delete(struct session *s, const struct msg *m, struct err *e)
{
	if (request_add(&s->pending, m) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	session_close(s, "deleted");
	return 0;
}

/* Not sent to a worker yet: nothing to kill. */
static void
cancel_held(struct session *s, struct request *r)
{
	struct err why;

	err_set(&why, E_STATE, "cancelled before it was started");
	s->house->running--;
	request_fail(&s->pending, r, s->house->gateway, &why);
}

static int
on_cancel(struct session *s, const struct msg *m, struct err *e)
{
	struct request   *r = request_find(&s->pending, m->conn, ((const struct msg_cancel *)m->body)->call);
	struct msg_cancel c = { .call = r->exec };
	struct msg_done   done;

	if (r->type != MSG_EXEC)
		return err_set(e, E_NOTFOUND, "request %lu is not a running command", r->id);
	if (r->held.bytes.len > 0)
		cancel_held(s, r);
	else if (s->child == NULL)
		return err_set(e, E_BUSY, "the session's worker is being restarted");
	else if (link_send(child_link(s->child), MSG_CANCEL, house_next_id(s->house), 0, &c, e) == -1)
		return -1;
	gateway_reply(s->house->gateway, MSG_DONE, m->conn, m->id, &done);
	return 0;
}

static int
on_output_ack(struct session *s, const struct msg *m, struct err *e)
{
	struct msg_output_ack a = *(const struct msg_output_ack *)m->body;
	struct request       *r = request_find(&s->pending, m->conn, a.call);

	if (a.offset > r->sent[a.stream])
		return err_set(e, E_INVALID, "output_ack.offset: %lu is more than the %lu bytes sent", a.offset,
		    r->sent[a.stream]);
	a.call = r->exec;
	if (s->child == NULL)
		return 0; /* the next worker is told by offset */
	return link_send(child_link(s->child), MSG_OUTPUT_ACK, 0, 0, &a, e);
}

#define IN(st) (1U << (st))
#define ALIVE (IN(STATE_STARTING) | IN(STATE_READY) | IN(STATE_RESTARTING))

static const struct {
	int (*fn)(struct session *, const struct msg *, struct err *);
	unsigned when; /* states in which it is welcome */
} on[MSG__COUNT] = {
	[MSG_CREATE] = { on_create, ALIVE },
	[MSG_EXEC] = { on_exec, ALIVE },
	[MSG_DELETE] = { on_delete, ALIVE | IN(STATE_CLOSING) },
	[MSG_CANCEL] = { on_cancel, ALIVE },
	[MSG_OUTPUT_ACK] = { on_output_ack, ALIVE },
};

int
session_deliver(struct session *s, const struct msg *m, struct err *e)
{
	if (on[m->type].fn == NULL)
		return err_set(e, E_PROTO, "a session takes no %s", msg_name(m->type));
	if (!(on[m->type].when & IN(s->state)))
		return err_set(e, E_STATE, "session %s is being deleted", s->name);
	return on[m->type].fn(s, m, e);
}

/* Commands go on without their client; nobody reads a stream any more. */
void
session_conn_gone(struct session *s, uint64_t conn)
{
	struct request *r;
	struct err      e = { 0 };

	TAILQ_FOREACH (r, &s->pending, next) {
		if (r->conn == 0 || (conn != 0 && r->conn != conn))
			continue;
		r->conn = 0;
		if (r->type == MSG_EXEC && r->streamed && s->child != NULL && r->held.bytes.len == 0)
			link_send(child_link(s->child), MSG_DETACH, 0, 0, &(struct msg_detach){ .call = r->exec }, &e);
	}
}

/* ---- birth and death ------------------------------------------------------------------------ */

static struct session *
session_new(struct house *h, uint64_t id, const char *name, const struct msg_spec *spec, int dir)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->house = h;
	s->id = id;
	s->spec = *spec;
	s->dir = dir;
	s->cgroups = h->machine->cgroups;
	s->created_ms = s->last_used_ms = now_ms();
	snprintf(s->name, sizeof(s->name), "%s", name);
	TAILQ_INIT(&s->pending);
	ev_timer_init(&s->again, on_again, 0., 0.);
	ev_timer_init(&s->idle, on_idle, 0., 0.);
	ev_timer_init(&s->patience, on_patience, 0., 0.);
	s->again.data = s->idle.data = s->patience.data = s;
	return s;
}

static int
make_dir(const struct house *h, uint64_t id, struct err *e)
{
	char name[32];

	snprintf(name, sizeof(name), "%lu", id);
	if (mkdirat(h->dirs->sessions, name, 0700) == -1)
		return err_sys(e, "make the session's state directory");
	int dir = openat(h->dirs->sessions, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return err_sys(e, "open the session's state directory");
	return dir;
}

/* A worker is on its way to build it. */
static struct session *
session_start(struct house *h, const char *name, const struct msg_spec *spec, uint32_t uid_base, struct err *e)
{
	uint64_t        id = house_next_id(h);
	AUTO_FD int     dir = make_dir(h, id, e);
	struct session *s = dir == -1 ? NULL : session_new(h, id, name, spec, dir);

	if (s == NULL)
		return NULL;
	fd_take(&dir);
	s->uid_base = uid_base;
	s->state = STATE_STARTING;
	if (worker_start(s, WORK_BUILD, e) == -1) {
		remove_dir(s);
		session_free(s);
		return NULL;
	}
	expect_progress(s, LIM_BUILD_SEC);
	return s;
}

struct session *
session_create(struct house *h, const char *name, const struct msg_spec *spec, uint32_t uid_base, const struct msg *m,
    struct err *e)
{
	struct session *s = session_start(h, name, spec, uid_base, e);

	if (s != NULL && request_add(&s->pending, m) == NULL)
		log_error("session=%lu no memory for its creator's request", s->id);
	return s;
}

struct session *
session_prepare(struct house *h, const struct msg_spec *spec, uint32_t uid_base, struct err *e)
{
	char name[LIM_NAME];

	snprintf(name, sizeof(name), SPARE_PREFIX "%lu", h->next_id); /* the id it is about to get */
	struct session *s = session_start(h, name, spec, uid_base, e);
	if (s != NULL)
		s->spare = true;
	return s;
}

bool
session_is_spare(const struct session *s)
{
	return s->spare;
}

bool
session_was_spare(const char *name)
{
	return strncmp(name, SPARE_PREFIX, strlen(SPARE_PREFIX)) == 0;
}

/* All limits can be changed later but the size of a mounted file system. */
bool
session_fits(const struct session *s, const struct msg_spec *spec)
{
	return s->spare && s->state == STATE_READY && s->spec.workspace_mb == spec->workspace_mb &&
	       s->spec.network == spec->network;
}

int
session_claim(struct session *s, const struct msg_spec *spec, const struct msg *m, struct err *e)
{
	struct msg_claim claim = { .session = s->name, .spec = *spec, .created_ms = now_ms() };
	uint64_t         id = house_next_id(s->house);

	s->spare = false;
	s->spec = *spec;
	s->created_ms = claim.created_ms;
	s->state = STATE_STARTING;
	if (request_add(&s->pending, m) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	s->claim_id = id;
	expect_progress(s, LIM_BUILD_SEC);
	/* a worker that is gone by now is told by the loop, and fails the create */
	if (link_send(child_link(s->child), MSG_CLAIM, id, 0, &claim, e) == -1)
		log_warn("session=%lu claim: %s", s->id, e->text);
	return 0;
}

void
session_rename(struct session *s, const char *name)
{
	snprintf(s->name, sizeof(s->name), "%s", name);
}

/* Its cgroups are where they were made, wherever ours are now. */
static void
keep_cgroups(struct session *s, const struct msg_cgroups *c)
{
	const char *const paths[4] = { c->unified, c->memory, c->pids, c->cpu };

	for (size_t i = 0; i < 4; i++)
		s->cgroup_paths[i] = strdup(paths[i]);
	s->cgroups = (struct msg_cgroups){
		.unified = s->cgroup_paths[0],
		.v2_limits = c->v2_limits,
		.memory = s->cgroup_paths[1],
		.pids = s->cgroup_paths[2],
		.cpu = s->cgroup_paths[3],
	};
}

struct session *
session_adopt(struct house *h, const struct msg_session_state *st, int dir, struct err *e)
{
	struct session *s = session_new(h, st->id, st->session, &st->spec, dir);

	if (s == NULL) {
		err_set(e, E_SYS, "no memory for a session");
		return NULL;
	}
	s->uid_base = (uint32_t)st->uid_base;
	s->created_ms = st->created_ms;
	keep_cgroups(s, &st->cgroups);
	s->state = STATE_RESTARTING;
	start_again_soon(s);
	return s;
}

struct session *
session_sweep(struct house *h, uint64_t id, const struct msg_session_state *st, int dir, struct err *e)
{
	struct msg_spec spec;
	char            name[LIM_NAME];

	msg_defaults(MSG_SPEC, &spec);
	snprintf(name, sizeof(name), "leftover.%lu", id);
	struct session *s = session_new(h, id, name, &spec, dir);
	if (s == NULL) {
		err_set(e, E_SYS, "no memory for a session");
		return NULL;
	}
	if (st != NULL)
		keep_cgroups(s, &st->cgroups);
	s->state = STATE_CLOSING;
	snprintf(s->why, sizeof(s->why), "left by an earlier boxd");
	start_again_soon(s);
	return s;
}

void
session_free(struct session *s)
{
	ev_timer_stop(s->house->loop, &s->again);
	ev_timer_stop(s->house->loop, &s->idle);
	ev_timer_stop(s->house->loop, &s->patience);
	while (!TAILQ_EMPTY(&s->pending))
		request_drop(&s->pending, TAILQ_FIRST(&s->pending));
	child_close(&s->child);
	for (size_t i = 0; i < 4; i++)
		free(s->cgroup_paths[i]);
	fd_close(&s->dir);
	free(s);
}
