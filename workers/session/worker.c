#include "worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "disk/scanner.h"
#include "mounter.h"
#include "wire/detail.h"
#include "wire/route.h"

enum { SUPERVISOR_FD = 3 };

static const char *const state_names[WORKER_STATES] = {
	[WAITING] = "waiting",
	[BUILDING] = "building",
	[ATTACHING] = "attaching",
	[READY] = "ready",
	[BROKEN] = "broken",
	[CLOSING] = "closing",
	[CLOSED] = "closed",
};

static int
on_worker_start(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_worker_start *s = m->body;

	static int (*const begin[])(struct worker *, struct msg *, struct err *) = {
		[WORK_BUILD] = build_start,
		[WORK_ADOPT] = build_attach,
		[WORK_SWEEP] = build_find_leftovers,
		[WORK_REOPEN] = build_reopen,
		[WORK_MOUNT] = mounter_start,
	};

	if (fchdir(s->dir) == -1)
		return err_sys(e, "enter the session's state directory");
	w->files.program = msg_take_fd(m, s->files);
	w->calls = msg_take_fd(m, s->calls);
	snprintf(w->root, sizeof(w->root), "%s", s->root);
	w->started_us = span_us();
	snprintf(w->name, sizeof(w->name), "%s", s->session);
	w->about = (struct msg_session_state){
		.id = s->id,
		.session = w->name,
		.spec = s->spec,
		.uid_base = s->uid_base,
		.uid_count = s->uid_count,
		.created_ms = s->created_ms,
		.net_mode = s->net_mode,
		.image_missing = s->work == WORK_BUILD && s->image == -1 && *s->spec.image != '\0',
	};
	w->about.disk = w->disk.reported;
	w->process_retention_sec = s->process_retention_sec;
	w->process_retained = s->process_retained;
	if (owned_msg_copy(&w->spec_kept, MSG_SPEC, &w->about.spec, e) == -1)
		return -1;
	return begin[s->work](w, m, e);
}

static int
on_init_ready(struct worker *w, struct msg *m, struct err *e)
{
	return build_done(w, m, e);
}

static int
on_init_failed(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_init_failed *f = m->body;
	enum err_code                 code = err_from_wire(f->code, strlen(f->code));

	if (code == E_INVALID)
		return err_set(e, code, "%s", f->reason);
	return err_set(e, E_BACKEND, "the sandbox could not be built: %s", f->reason);
}

static int
on_claim(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_claim *claim = m->body;
	struct msg_done         done;

	if (build_claim(w, claim, e) == -1)
		return -1;
	w->process_retention_sec = claim->process_retention_sec;
	w->process_retained = claim->process_retained;
	return link_reply(w->up, MSG_DONE, m->id, 0, &done, e);
}

static int
on_close(struct worker *w, struct msg *m, struct err *e)
{
	teardown_start(w, m->id);
	return 0;
}

static int
on_mounts(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_mounts *x = m->body;
	struct scanner           s = { .fd = msg_take_fd(m, x->scanner),
			  .pidfd = { msg_take_fd(m, x->scan), msg_take_fd(m, x->look) } };

	fd_close(&w->next.mounts);
	w->next.call = x->call;
	w->next.mounts = msg_take_fd(m, x->mounts);
	/* whatever comes of the command: nobody else will measure this */
	if (s.fd >= 0 && watch_take_scanner(w, &s, e) == -1)
		worker_broken(w, e);
	scanner_stop(&s);
	return 0;
}

static int
on_exec(struct worker *w, struct msg *m, struct err *e)
{
	AUTO_FD int mounts = w->next.call == m->id ? fd_take(&w->next.mounts) : -1;

	return w->watch != NULL ? watch_before(w->watch, m, mounts, e) : exec_start(w, m, mounts, e);
}

static int
on_output(struct worker *w, struct msg *m, struct err *e)
{
	return processes_output(w, m->body) ? 0 : exec_output(w, m->body, e);
}

static int
on_output_ack(struct worker *w, struct msg *m, struct err *e)
{
	return processes_ack(w, m->body) ? 0 : exec_ack(w, m->body, e);
}

static int
on_detach(struct worker *w, struct msg *m, struct err *e)
{
	const struct msg_detach *d = m->body;

	return processes_detach(w, d->call) ? 0 : exec_detach(w, d, e);
}

#define IN(s) (1U << (s))

static const struct {
	int (*fn)(struct worker *, struct msg *, struct err *);
	unsigned when;  /* states in which it is welcome */
	bool     fatal; /* its failure is the sandbox's */
} on[MSG__COUNT] = {
	[MSG_WORKER_START] = { on_worker_start, IN(WAITING), true },
	[MSG_INIT_READY] = { on_init_ready, IN(BUILDING), true },
	[MSG_INIT_FAILED] = { on_init_failed, IN(BUILDING), true },
	[MSG_CLAIM] = { on_claim, IN(READY), false },
	[MSG_MOUNTS] = { on_mounts, IN(READY), false },
	[MSG_EXEC] = { on_exec, IN(READY), false },
	[MSG_CANCEL] = { exec_cancel, IN(READY), false },
	[MSG_PAUSE] = { pause_start, IN(READY), false },
	[MSG_UNPAUSE] = { pause_end, IN(READY), false },
	[MSG_PROCESS_START] = { processes_start, IN(READY), false },
	[MSG_PROCESS_GET] = { processes_get, IN(READY), false },
	[MSG_PROCESS_LIST] = { processes_list, IN(READY), false },
	[MSG_PROCESS_STOP] = { processes_stop, IN(READY), false },
	[MSG_PROCESS_WRITE] = { processes_write, IN(READY), false },
	[MSG_PROCESS_ATTACH] = { processes_attach, IN(READY), false },
	[MSG_OUTPUT] = { on_output, IN(READY) | IN(ATTACHING), false },
	[MSG_OUTPUT_ACK] = { on_output_ack, IN(READY), false },
	[MSG_DETACH] = { on_detach, IN(READY), false },
	[MSG_CLOSE] = { on_close, IN(BUILDING) | IN(ATTACHING) | IN(READY) | IN(BROKEN), false },
};

static int
dispatch(struct worker *w, struct msg *m, struct err *e)
{
	bool     of_files = msg_route(m->type)->room == ROOM_FILES;
	unsigned when = of_files ? IN(READY) : on[m->type].when;

	if (on[m->type].fn == NULL && !of_files)
		return err_set(e, E_PROTO, "a session worker takes no %s", msg_name(m->type));
	if (!(when & IN(w->state)))
		return err_set(e, E_STATE, "%s while %s", msg_name(m->type), state_names[w->state]);
	return of_files ? files_request(w, m, e) : on[m->type].fn(w, m, e);
}

/* While attaching, results come in between the answers that tell what there is. */
static int
on_reply(struct worker *w, struct msg *m, struct err *e)
{
	if (m->id == 0 && w->state == ATTACHING)
		return build_attached(w, m, e);
	if (w->state != READY && w->state != ATTACHING)
		return 0;
	if (m->id == PAUSE_PING && w->state == READY) {
		pause_init_answered(w);
		return 0;
	}
	if (files_result(w, m))
		return 0;
	if (processes_reply(w, m))
		return w->state == ATTACHING ? build_attached_all(w, e) : 0;
	exec_result(w, m);
	return 0;
}

void
worker_deliver(struct worker *w, struct msg *m)
{
	struct err e = { 0 };

	if (m->envelope == ENV_REPLY) { /* only init replies to us */
		if (on_reply(w, m, &e) == -1)
			worker_broken(w, &e);
		return;
	}
	if (dispatch(w, m, &e) == 0)
		return;
	if (m->envelope == ENV_REQUEST)
		link_tell_failure(w->up, m->id, 0, &e);
	else if (on[m->type].fatal)
		worker_broken(w, &e);
	else
		log_debug("session=%lu %s", w->about.id, e.text);
}

void
worker_broken(struct worker *w, const struct err *why)
{
	struct msg_worker_failed failed = {
		.code = err_wire_name(why->code), .reason = why->text, .detail = detail_of(why)
	};

	if (w->state >= BROKEN)
		return;
	w->state = BROKEN;
	ev_timer_stop(w->loop, &w->deadline);
	pause_close(w);
	exec_fail_all(w, why);
	files_fail_all(w, why);
	processes_close(w, why);
	link_tell(w->up, MSG_WORKER_FAILED, 0, 0, &failed);
}

/* ---- the two channels ----------------------------------------------------- */

static void
on_up_msg(void *arg, struct msg *m)
{
	worker_deliver(arg, m);
}

static void
on_up_gone(void *arg, const struct err *why)
{
	struct worker *w = arg;

	if (why->code != E_NONE)
		log_warn("session=%lu supervisor link: %s", w->about.id, why->text);
	ev_break(w->loop, EVBREAK_ALL);
}

static const struct link_ops up_ops = { .on_msg = on_up_msg, .on_gone = on_up_gone };

void
worker_open(struct worker *w, struct ev_loop *loop)
{
	struct err e = { 0 };

	*w = (struct worker){
		.loop = loop,
		.box = { .pidfd = -1 },
		.net = NET_SOCKETS_NONE,
		.calls = -1,
		.next = { .mounts = -1 },
	};
	LIST_INIT(&w->execs);
	disk_init(&w->disk);
	mounts_init(&w->mounts);
	files_init(w, -1);
	w->up = link_open(loop, SUPERVISOR_FD, FROM_SUPERVISOR, &up_ops, w, &e);
	if (w->up == NULL) {
		log_error("%s", e.text);
		exit(1);
	}
}

void
worker_close(struct worker *w)
{
	struct err why = { .code = E_SHUTDOWN };

	exec_fail_all(w, &why);
	watch_close(&w->watch);
	files_clear(w);
	processes_close(w, &why);
	ev_timer_stop(w->loop, &w->deadline);
	ev_timer_stop(w->loop, &w->retry);
	pause_close(w);
	ev_io_stop(w->loop, &w->init_exit);
	link_close(&w->down);
	link_close(&w->up);
	fd_close(&w->box.pidfd);
	fd_close(&w->calls);
	fd_close(&w->next.mounts);
	net_sockets_close(&w->net);
	owned_msg_clear(&w->spec_kept);
	disk_clear(&w->disk);
	mounts_clear(&w->mounts);
	if (w->has_cgroup)
		cgroup_clear(&w->cgroup);
}
