/* A session's worker: watched, replaced; and the session's end. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "children/gateway.h"
#include "core/registry.h"
#include "core/reply.h"
#include "core/router.h"
#include "core/session_impl.h"
#include "wire/detail.h"

/* ---- timers ------------------------------------------------------------------------ */

void
session_touch(struct session *s)
{
	s->last_used_ms = epoch_ms();
	ev_timer_stop(s->boxd->loop, &s->idle_timer);
	if (s->state != STATE_READY || s->spare || s->paused || s->spec.persistent || s->spec.idle_sec == 0 ||
	    s->processes > 0 || requests_use(&s->pending))
		return;
	ev_timer_set(&s->idle_timer, (double)s->spec.idle_sec, 0.);
	ev_timer_start(s->boxd->loop, &s->idle_timer);
}

static void
on_idle_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	session_close(t->data, "idle");
}

void
session_expect(struct session *s, double sec)
{
	ev_timer_stop(s->boxd->loop, &s->reply_timer);
	ev_timer_set(&s->reply_timer, sec + 5., 0.);
	ev_timer_start(s->boxd->loop, &s->reply_timer);
}

static void
on_reply_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct session *s = t->data;

	log_warn("session=%lu worker does not answer while %s", s->id,
	    msg_enum_name(MSG_SESSION_INFO, "state", (int)s->state));
	if (s->child != NULL)
		child_kill(s->child);
}

/* ---- the worker ---------------------------------------------------------------------- */

static int
send_close(struct session *s, struct err *e)
{
	assert(s->state == STATE_CLOSING && s->child != NULL);
	session_expect(s, LIM_CLOSE_SEC);
	s->close_id = boxd_next_id(s->boxd);
	return link_send(child_link(s->child), MSG_CLOSE, s->close_id, 0, &(struct msg_close){}, e);
}

static void session_restart_later(struct session *s);

/* Adopt the living sandbox, or sweep what is left of a closing one. */
static void
session_restart_worker(struct session *s)
{
	struct err e = { 0 };
	bool       closing = s->state == STATE_CLOSING;

	assert(closing || s->state == STATE_RESTARTING);
	if (session_start_worker(s, closing ? WORK_SWEEP : WORK_ADOPT, &e) == 0 &&
	    (!closing || send_close(s, &e) == 0)) {
		if (!closing)
			session_expect(s, LIM_BUILD_SEC);
		return;
	}
	log_error("session=%lu %s", s->id, e.text);
	child_close(&s->child);
	session_restart_later(s);
}

void
session_start_soon(struct session *s)
{
	ev_timer_set(&s->restart_timer, 0., 0.);
	ev_timer_start(s->boxd->loop, &s->restart_timer);
}

static void
on_restart_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	session_restart_worker(t->data);
}

/* ---- the end --------------------------------------------------------------------------- */

/* How many of its managed processes live now. */
static void
set_processes(struct session *s, uint64_t live)
{
	counter_sub(&s->boxd->processes, s->processes);
	s->boxd->processes += live;
	s->processes = live;
	session_recount(s);
}

/* It would end by itself, unless somebody else has it. */
static void
end_worker(struct session *s)
{
	if (s->child != NULL)
		child_kill(s->child);
	child_close(&s->child);
}

/*
 * Nothing of it is left, or nothing more can be done: free it and reply to those who wait.  In this order, because they
 * may ask for a session of that name at once.
 */
static void
session_finish(struct session *s, uint64_t killed)
{
	char                name[LIM_NAME + 1];
	struct msg_deleted  deleted = { .session = name, .killed = killed };
	struct boxd        *h = s->boxd;
	struct request_list left;
	struct request     *r;

	assert(s->state == STATE_CLOSING);
	assert(requests_count(&s->pending, A_COMMAND) == 0 && requests_forwarded(&s->pending) == 0);
	snprintf(name, sizeof(name), "%s", s->name);
	end_worker(s);
	set_processes(s, 0);
	log_at(s->spare ? LOG_DEBUG : LOG_INFO, "session=%lu name=%s gone killed=%lu reason=\"%s\"", s->id, s->name,
	    killed, s->why);
	requests_take_all(&s->pending, &left);
	registry_remove(h->registry, s); /* frees s */
	TAILQ_FOREACH (r, &left, next)
		if (r->type == MSG_DELETE)
			reply_send(h, MSG_DELETED, r->conn, r->id, &deleted);
	while ((r = TAILQ_FIRST(&left)) != NULL) {
		TAILQ_REMOVE(&left, r, next);
		if (r->type != MSG_DELETE && r->conn != 0) /* a reply that waited for this */
			gateway_send(h->gateway, &r->held);
		request_drop(r);
	}
}

/* Fail what waits for this sandbox to work, but not what waits for its end. */
static void
fail_work(struct session *s, const struct err *why)
{
	counter_sub(&s->boxd->running, requests_count(&s->pending, A_COMMAND));
	requests_fail_all(&s->pending, MSG_EXEC, s->boxd, why);
	requests_fail_all(&s->pending, MSG_CREATE, s->boxd, why);
	counter_sub(&s->boxd->starting, requests_count(&s->pending, A_START));
	requests_fail_forwarded(&s->pending, s->boxd, why);
}

/* Everything that waits for it to work fails; then it is closed. */
static void
session_fail(struct session *s, const struct err *why)
{
	struct err e = { 0 };

	if (s->state == STATE_CLOSING)
		return;
	snprintf(s->why, sizeof(s->why), "%s", why->text);
	s->state = STATE_CLOSING; /* it takes no more work: clients whose request fails may ask again */
	session_recount(s);
	fail_work(s, why);
	s->restart = (struct restart){ 0 };
	ev_timer_stop(s->boxd->loop, &s->idle_timer);
	ev_timer_stop(s->boxd->loop, &s->restart_timer);
	session_net_close(s);
	if (s->child == NULL || send_close(s, &e) == -1) {
		child_close(&s->child);
		session_restart_worker(s);
	}
}

static void
on_artifacts(void *arg, const struct err *why)
{
	struct session *s = arg;
	struct err      e = { 0 };

	if (s->state != STATE_STARTING) /* it was closed meanwhile */
		return;
	if (why != NULL)
		session_fail(s, why);
	else if (session_start_worker(s, WORK_BUILD, &e) == -1)
		session_fail(s, &e);
	else
		session_expect(s, LIM_BUILD_SEC);
}

int
session_begin(struct session *s, struct err *e)
{
	int r = artifact_hold(
	    s->boxd, s->name, s->spec.extra_mounts.v, s->spec.extra_mounts.n, on_artifacts, s, &s->artifacts, e);

	if (r == 0)
		r = session_start_worker(s, WORK_BUILD, e);
	if (r == 0)
		session_expect(s, LIM_BUILD_SEC);
	return r == -1 ? -1 : 0;
}

void
session_close(struct session *s, const char *why)
{
	struct err e;

	err_session(&e, s->boxd->stopping ? E_SHUTDOWN : E_STATE, "session %s is closed: %s", s->name, why);
	session_fail(s, &e);
}

static void
session_restart_later(struct session *s)
{
	const struct restart_policy policy = {
		.first_sec = 0.1,
		.most_sec = 5,
		.window_sec = (double)s->boxd->config->worker_restart_window_sec,
		.limit = (unsigned)s->boxd->config->worker_restarts,
	};
	double     delay = restart_after_crash(&s->restart, &policy, ev_now(s->boxd->loop));
	struct err e;

	if (delay < 0 && s->state == STATE_CLOSING) {
		log_error("session=%lu leftovers stay until the next start of boxd", s->id);
		session_finish(s, 0);
	} else if (delay < 0) {
		err_set(&e, E_CRASH, "its worker crashed %u times within %.0f s", s->restart.recent, policy.window_sec);
		err_context(&e, "session %s failed", s->name);
		session_fail(s, &e);
	} else {
		ev_timer_set(&s->restart_timer, delay, 0.);
		ev_timer_start(s->boxd->loop, &s->restart_timer);
	}
}

/* ---- what a worker says ---------------------------------------------------------------- */

/* What a worker that dies now does not take is kept for the next one. */
static int
send_one_held(struct session *s, struct request *r, struct err *e)
{
	assert(r->held.bytes.len > 0);
	if (r->mounts != MOUNTS_OWN)
		return session_ask_mounts(s, r, e);
	if (session_send_namespace(s, r, e) == 0 && link_send_packet(child_link(s->child), &r->held, e) == 0)
		return 0;
	return e->code == E_CRASH ? 0 : -1;
}

static void
send_held(struct session *s)
{
	struct request *r, *next;
	struct err      e = { 0 };

	requests_drop_deaf(&s->pending);
	for (r = TAILQ_FIRST(&s->pending.list); r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (r->exec == 0 || r->type == MSG_NONE || r->held.bytes.len == 0 || r->mounts == MOUNTS_ASKED)
			continue;
		if (send_one_held(s, r, &e) == -1) {
			counter_sub(&s->boxd->running, r->type == MSG_EXEC);
			counter_sub(&s->boxd->starting, r->type == MSG_PROCESS_START);
			request_fail(r, s->boxd, &e);
		}
	}
}

/* Does its workspace have the walls that the client or the operator requires? */
static int
check_required(const struct session *s, struct err *e)
{
	const struct {
		enum wall wall;
		bool      holds;
	} own[] = { { WALL_QUOTA_BYTES, s->disk.hard_bytes }, { WALL_QUOTA_INODES, s->disk.hard_inodes } };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		const char *name = wall_name(own[i].wall);
		bool        wanted = s->boxd->config->require.walls[own[i].wall];

		for (size_t k = 0; k < s->spec.require.n; k++)
			wanted |= strcmp(s->spec.require.v[k], name) == 0;
		if (wanted && !own[i].holds)
			return err_session(e, E_BACKEND,
			    "the workspace of session %s lacks the required wall %s: it is %s, with %s; "
			    "remedy: a private workspace, or a host_path on a file system with project quotas",
			    s->name, name, s->disk.workspace, *s->disk.quota != '\0' ? s->disk.quota : "no quota");
	}
	return 0;
}

/* Commands whose client left while no worker was there to kill them. */
static void
cancel_abandoned(struct session *s)
{
	struct request *r = TAILQ_FIRST(&s->pending.list), *next;

	for (; r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (r->type == MSG_EXEC && r->conn == 0 && r->dies_alone)
			session_cancel_alone(s, r);
	}
}

static void
become_ready(struct session *s, const char *how)
{
	struct err e;

	assert((s->state == STATE_STARTING || s->state == STATE_RESTARTING) && s->child != NULL);
	if (!s->spare && session_let_out(s, &e) == -1) {
		session_fail(s, &e);
		return;
	}
	log_at(s->spare ? LOG_DEBUG : LOG_INFO, "session=%lu name=%s %s worker=%d init=%lu build_us=%lu", s->id,
	    s->name, how, child_pid(s->child), s->init_pid, s->build_us);
	if (s->state == STATE_STARTING && s->image_missing)
		log_info("session=%lu name=%s image=%s is not in the store: the root is the host view", s->id, s->name,
		    s->spec.image);
	s->state = STATE_READY;
	session_recount(s);
	struct msg_session_info info = session_info(s);
	requests_reply_all(&s->pending, MSG_CREATE, s->boxd, MSG_SESSION_INFO, &info);
	cancel_abandoned(s);
	send_held(s);
	session_touch(s);
}

/* A command that an earlier boxd started.  The next worker can be given no more than LIM_EXECS commands. */
static void
add_orphan(struct session *s, uint64_t exec)
{
	struct request *r;

	if (request_by_exec(&s->pending, exec) != NULL)
		return;
	if (requests_count(&s->pending, A_COMMAND) >= LIM_EXECS ||
	    (r = request_add_orphan(&s->pending, exec)) == NULL) {
		log_warn("session=%lu exec=%lu has no place among the running commands", s->id, exec);
		return;
	}
	r->artifacts = artifact_hold_all(s->boxd, s->name);
	s->boxd->running++;
}

static void
on_worker_ready(struct session *s, struct msg *m)
{
	const struct msg_worker_ready *ready = m->body;
	struct err                     e;

	if (s->state != STATE_STARTING && s->state != STATE_RESTARTING)
		return;
	ev_timer_stop(s->boxd->loop, &s->reply_timer);
	for (size_t i = 0; i < ready->execs.n; i++)
		add_orphan(s, ready->execs.v[i].exec);
	s->init_pid = ready->init_pid;
	session_forget_mounts(s);
	s->init = msg_take_fd(m, ready->init);
	s->build_us = ready->build_us;
	session_set_disk(s, &ready->disk);
	session_count_walls(s);
	session_net_take(s, m);
	s->paused = ready->paused || requests_count(&s->pending, A_PAUSE) > 0;
	if (s->state == STATE_STARTING && check_required(s, &e) == -1) {
		session_fail(s, &e);
		return;
	}
	become_ready(s, s->state == STATE_STARTING ? "ready" : "attached");
}

static void
on_worker_failed(struct session *s, struct msg *m)
{
	const struct msg_worker_failed *f = m->body;
	enum err_code                   code = err_from_wire(f->code, strlen(f->code));
	struct err                      e;

	log_at(code == E_INVALID ? LOG_INFO : LOG_ERROR, "session=%lu name=%s failed: %s", s->id, s->name, f->reason);
	err_set(&e, code == E__COUNT ? E_CRASH : code, "%s", f->reason);
	detail_take(&e, &f->detail);
	err_context(&e, "session %s failed", s->name);
	session_fail(s, &e);
}

static void
on_output(struct session *s, struct msg *m)
{
	struct msg_output o = *(const struct msg_output *)m->body;
	struct request   *r = request_by_exec(&s->pending, o.call);

	if (r == NULL || r->conn == 0)
		return;
	r->streamed_to[o.stream] = o.offset + o.data.len;
	o.call = r->id;
	gateway_notice(s->boxd->gateway, MSG_OUTPUT, r->conn, &o);
}

static void
on_process_count(struct session *s, struct msg *m)
{
	const struct msg_process_count *count = m->body;
	bool                            changed = s->processes != count->live;

	s->ended = count->ended;
	set_processes(s, count->live);
	if (changed) /* that an old one was forgotten is no use of the session */
		session_touch(s);
}

/* The client asked that a timeout end the session: its reply comes after that. */
static void
drop_after_timeout(struct session *s, struct request *r, const struct msg_exec_result *result)
{
	struct err e = { 0 };

	if (msg_encode_reply(&r->held, MSG_EXEC_RESULT, r->id, r->conn, result, &e) == -1)
		request_fail(r, s->boxd, &e);
	else
		request_park(r);
	session_close(s, "a command timed out");
}

/* No init has heard of it, so it can be sent again; once. */
static bool
send_exec_again(struct session *s, struct request *r)
{
	if (r->sent.bytes.len == 0)
		return false;
	log_info("session=%lu exec=%lu sent again: its worker died before it was started", s->id, r->exec);
	r->held = r->sent;
	r->sent = (struct packet){ 0 };
	if (s->state == STATE_READY)
		send_held(s);
	return true;
}

static void
on_exec_reply(struct session *s, struct request *r, struct msg *m)
{
	struct err e = { 0 };

	if (m->failed && m->error.code == E_UNSTARTED && send_exec_again(s, r))
		return;
	counter_sub(&s->boxd->running, 1);
	s->boxd->execs++;
	s->execs++;
	if (m->failed || msg_expect(m, MSG_EXEC_RESULT, &e) == -1) {
		request_fail(r, s->boxd, m->failed ? &m->error : &e);
		session_touch(s);
		return;
	}
	const struct msg_exec_result *result = m->body;
	log_debug("session=%lu exec=%lu ended cause=%s code=%ld signal=%lu killed=%lu us=%lu", s->id, r->exec,
	    msg_enum_name(MSG_EXEC_RESULT, "cause", (int)result->cause), result->exit_code, result->signal,
	    result->killed, result->duration_us);
	if (result->cause == CAUSE_TIMEOUT && r->on_timeout == ON_TIMEOUT_DROP && s->processes == 0) {
		drop_after_timeout(s, r, result);
		return;
	}
	if (!session_hint(s, r, result))
		request_reply(r, s->boxd, MSG_EXEC_RESULT, result);
	session_touch(s);
}

/* Is another request to pause it on its way? */
static bool
others_pause(const struct session *s, const struct request *r)
{
	return requests_count(&s->pending, A_PAUSE) > (r->type == MSG_PAUSE ? 1 : 0);
}

static void
on_forward_reply(struct session *s, struct request *r, struct msg *m)
{
	enum msg_type result = msg_def(r->type)->result;
	bool          use = request_is_use(r);
	struct err    e = { 0 };

	counter_sub(&s->boxd->starting, r->type == MSG_PROCESS_START);
	if (r->type == MSG_PAUSE || (r->type == MSG_UNPAUSE && !m->failed))
		s->paused = (r->type == MSG_PAUSE && !m->failed) || others_pause(s, r);
	if ((r->type == MSG_PAUSE || r->type == MSG_UNPAUSE) && session_remember_pause(s, s->paused, &e) == -1)
		log_warn("session=%lu %s", s->id, e.text);
	if (m->failed || msg_expect(m, result, &e) == -1)
		request_fail(r, s->boxd, m->failed ? &m->error : &e);
	else
		request_reply(r, s->boxd, result, m->body);
	if (use)
		session_touch(s);
}

static void
on_claimed(struct session *s, const struct msg *m)
{
	ev_timer_stop(s->boxd->loop, &s->reply_timer);
	struct err e;

	s->claim_id = 0;
	if (m->failed)
		session_fail(s, &m->error);
	else if (check_required(s, &e) == -1 || session_remember(s, &e) == -1)
		session_fail(s, &e);
	else
		become_ready(s, "claimed");
}

/* A worker that has built a sandbox has dropped its privileges; removing some files needs them, and time. */
static void
session_sweep_rest(struct session *s, uint64_t killed)
{
	assert(s->state == STATE_CLOSING && !s->sweeping);
	s->sweeping = true;
	s->killed = killed;
	end_worker(s);
	session_restart_worker(s);
}

static void
on_closed(struct session *s, const struct msg_closed *c)
{
	bool left = session_remove_rest(s) == 1 || c->left;

	if (left && !s->sweeping) {
		session_sweep_rest(s, c->killed);
		return;
	}
	if (left)
		log_error("session=%lu not all of it could be removed", s->id);
	session_finish(s, s->sweeping ? s->killed : c->killed);
}

/* A worker answers EXEC, CLAIM, CLOSE and what was forwarded; the answer to a CANCEL has been given already. */
static void
on_reply(struct session *s, struct msg *m)
{
	struct request *r = request_by_exec(&s->pending, m->id);
	struct err      e = { 0 };

	if (s->claim_id != 0 && m->id == s->claim_id && s->state == STATE_STARTING) {
		on_claimed(s, m);
	} else if (r != NULL && r->type == MSG_EXEC) {
		on_exec_reply(s, r, m);
	} else if (r != NULL && r->type != MSG_NONE) {
		on_forward_reply(s, r, m);
	} else if (s->state != STATE_CLOSING || m->id != s->close_id) {
		return; /* of a command that was cancelled */
	} else if (!m->failed && msg_expect(m, MSG_CLOSED, &e) == 0) {
		on_closed(s, m->body);
	} else if (m->failed && m->error.code == E_SYS) {
		log_error("session=%lu %s", s->id, m->error.text);
		if (s->sweeping)
			session_finish(s, 0);
		else
			session_sweep_rest(s, 0);
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
	else if (m->type == MSG_PROCESS_COUNT)
		on_process_count(s, m);
}

static void
on_worker_gone(void *arg, int status)
{
	struct session *s = arg;
	struct err      e;

	log_warn("session=%lu worker=%d gone %s while %s", s->id, child_pid(s->child), child_status(status).text,
	    msg_enum_name(MSG_SESSION_INFO, "state", (int)s->state));
	child_close(&s->child);
	ev_timer_stop(s->boxd->loop, &s->reply_timer);
	if (s->state == STATE_STARTING || (s->spare && s->state == STATE_READY)) {
		err_set(&e, E_CRASH, "the session's worker died (%s) before the sandbox was ready",
		    child_status(status).text);
		session_fail(s, &e);
		return;
	}
	err_set(&e, E_CRASH, "the session's worker died under the request; it may have been done or not");
	counter_sub(&s->boxd->starting, requests_starting(&s->pending));
	requests_fail_sent(&s->pending, s->boxd, &e);
	if (s->state == STATE_READY) {
		s->state = STATE_RESTARTING;
		ev_timer_stop(s->boxd->loop, &s->idle_timer);
	}
	s->worker_restarts++;
	s->boxd->worker_restarts++;
	session_restart_later(s);
}

const struct child_ops session_worker_ops = { on_worker_msg, on_worker_gone };

void
session_init_timers(struct session *s)
{
	ev_timer_init(&s->restart_timer, on_restart_timer, 0., 0.);
	ev_timer_init(&s->idle_timer, on_idle_timer, 0., 0.);
	ev_timer_init(&s->reply_timer, on_reply_timer, 0., 0.);
	s->restart_timer.data = s->idle_timer.data = s->reply_timer.data = s;
}
