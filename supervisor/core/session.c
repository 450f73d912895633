#include "core/session_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "children/mounter.h"
#include "core/ask.h"
#include "core/machine.h"
#include "core/reply.h"
#include "wire/route.h"

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

struct registry_entry *
session_entry(struct session *s)
{
	return &s->entry;
}

uint32_t
session_uid_base(const struct session *s)
{
	return s->uid_base;
}

/* The machine's walls, and those that the session's own workspace has. */
static struct msg_isolation
session_isolation(const struct session *s)
{
	struct msg_isolation i = s->boxd->machine->isolation;

	i.walls = s->walls;
	return i;
}

void
session_set_disk(struct session *s, const struct msg_disk *disk)
{
	struct err e;

	s->disk = *disk;
	if (owned_msg_copy(&s->disk_kept, MSG_DISK, &s->disk, &e) == 0)
		return;
	log_warn("session=%lu its disk cannot be shown: %s", s->id, e.text);
	msg_defaults(MSG_DISK, &s->disk);
}

void
session_count_walls(struct session *s)
{
	const struct strs *machine = &s->boxd->machine->isolation.walls;
	size_t             n = machine->n;

	if (n > 0)
		memcpy(s->wall_names, machine->v, n * sizeof(*s->wall_names));
	if (s->disk.hard_bytes)
		s->wall_names[n++] = wall_name(WALL_QUOTA_BYTES);
	if (s->disk.hard_inodes)
		s->wall_names[n++] = wall_name(WALL_QUOTA_INODES);
	s->walls = (struct strs){ n, s->wall_names };
}

struct msg_session_info
session_info(const struct session *s)
{
	return (struct msg_session_info){
		.session = s->name,
		.id = s->id,
		.state = s->state,
		.spec = s->spec,
		.isolation = session_isolation(s),
		.disk = s->disk,
		.net = session_net_info(s),
		.created_ms = s->created_ms,
		.last_used_ms = s->last_used_ms,
		.paused = s->paused,
		.running = requests_count(&s->pending, A_COMMAND),
		.execs = s->execs,
		.processes = s->processes,
		.worker_pid = s->child == NULL ? 0 : (uint64_t)child_pid(s->child),
		.init_pid = s->init_pid,
		.worker_restarts = s->worker_restarts,
		.build_us = s->build_us,
		.notice = s->notice,
	};
}

uint64_t
session_ended_processes(const struct session *s)
{
	return s->ended;
}

struct group_sum
session_sum(const struct session *s)
{
	bool open = s->state != STATE_CLOSING;

	return (struct group_sum){ .n = {
				       [SESSIONS] = 1,
				       [OPEN_SESSIONS] = open,
				       [STARTING_SESSIONS] = s->state == STATE_STARTING,
				       [PROCESSES] = s->processes,
				       [OPEN_PROCESSES] = open ? s->processes : 0,
				       [ENDED_PROCESSES] = s->ended,
				   } };
}

void
session_recount(struct session *s)
{
	struct group_sum now = session_sum(s);

	if (s->entry.groups.counted) /* else it will be, as it is then */
		group_count(&s->entry.groups, &now);
}

/* ---- what a client wants ------------------------------------------------------------------ */

static int
on_create(struct session *s, const struct msg *m, struct err *e)
{
	struct msg_session_info info = session_info(s);

	if (s->state != STATE_READY) {
		if (request_add(&s->pending, m, 0) == NULL)
			return err_set(e, E_SYS, "no memory for a request");
		return 0;
	}
	info.reused = true;
	reply_send(s->boxd, MSG_SESSION_INFO, m->conn, m->id, &info);
	session_touch(s);
	return 0;
}

bool
session_reuse(struct session *s)
{
	if (s->state == STATE_READY)
		session_touch(s);
	return s->state == STATE_READY;
}

static int
send_or_hold(struct session *s, struct request *r, const struct msg_exec *x, struct err *e)
{
	if (msg_encode(&r->held, MSG_EXEC, r->exec, 0, x, e) == -1)
		return -1;
	if (s->state != STATE_READY)
		return 0;
	return r->mounts == MOUNTS_WANTED ? session_ask_mounts(s, r, e) : session_send_exec(s, r, e);
}

static int
on_exec(struct session *s, const struct msg *m, struct err *e)
{
	struct msg_exec x = *(const struct msg_exec *)m->body;
	struct request *r;
	bool            mounts;

	if (mounter_check(&s->spec, &x, &mounts, e) == -1)
		return -1;
	if (requests_count(&s->pending, A_COMMAND) >= LIM_EXECS)
		return err_session(e, E_CAPACITY, "%d commands are running in session %s already", LIM_EXECS, s->name);
	if ((r = request_add(&s->pending, m, boxd_next_id(s->boxd))) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	r->mounts = mounts ? MOUNTS_WANTED : MOUNTS_OWN;
	r->streamed = x.window > 0;
	r->on_timeout = x.on_timeout;
	r->dies_alone = x.on_disconnect == ON_DISCONNECT_CANCEL;
	r->denied = session_net_info(s).denied;
	if (send_or_hold(s, r, &x, e) == -1) {
		request_drop(r);
		return -1;
	}
	s->boxd->running++;
	session_touch(s);
	return 0;
}

/* The worker does it and answers.  The request fails if the worker dies. */
static int
session_forward(struct session *s, const struct msg *m, struct err *e)
{
	struct request *r;

	if (requests_forwarded(&s->pending) >= LIM_EXECS)
		return err_session(e, E_CAPACITY, "%d requests are waiting in session %s already", LIM_EXECS, s->name);
	if ((r = request_add(&s->pending, m, boxd_next_id(s->boxd))) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	int sent = s->state == STATE_READY ? link_send(child_link(s->child), m->type, r->exec, 0, m->body, e)
					   : msg_encode(&r->held, m->type, r->exec, 0, m->body, e);
	if (sent == -1)
		request_drop(r);
	return sent;
}

static int
on_forward(struct session *s, const struct msg *m, struct err *e)
{
	if (session_forward(s, m, e) == -1)
		return -1;
	session_touch(s);
	return 0;
}

static int
on_usage(struct session *s, const struct msg *m, struct err *e)
{
	if (requests_count(&s->pending, A_COUNT) >= LIM_USAGE_PENDING)
		return err_session(
		    e, E_BUSY, "what session %s holds is being counted %d times already", s->name, LIM_USAGE_PENDING);
	return session_forward(s, m, e);
}

bool
session_is_closing(const struct session *s)
{
	return s->state == STATE_CLOSING;
}

/* Only the worker knows whether it replaces a process; when all places are taken, it may start no other. */
static int
on_process_start(struct session *s, const struct msg *m, struct err *e)
{
	struct msg_process_start start = *(const struct msg_process_start *)m->body;
	struct msg               changed = *m;
	struct boxd             *h = s->boxd;

	if (m->conn != CONN_OWN)
		start.capacity = 0; /* ours to say */
	if (h->processes + h->starting >= h->config->max_processes)
		start.capacity = h->config->max_processes;
	changed.body = &start;
	if (on_forward(s, &changed, e) == -1)
		return -1;
	h->starting++;
	return 0;
}

static int
on_process_attach(struct session *s, const struct msg *m, struct err *e)
{
	const struct msg_process_attach *a = m->body;
	struct attachment               *kept = calloc(1, sizeof(*kept));

	if (kept == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	*kept = (struct attachment){
		.offset = a->stdout_offset, .window = a->window, .again = a->again, .go_on = a->go_on
	};
	snprintf(kept->process, sizeof(kept->process), "%s", *a->process != '\0' ? a->process : "default");
	if (on_forward(s, m, e) == -1) {
		free(kept);
		return -1;
	}
	struct request *r = TAILQ_LAST(&s->pending.list, request_list);
	r->attachment = kept;
	r->streamed = true;
	return 0;
}

/*
 * The session counts as paused before the worker freezes it, so that nothing is sent to it afterwards; a pause that
 * fails is taken back.
 */
static int
on_pause(struct session *s, const struct msg *m, struct err *e)
{
	const struct walls *w = &s->boxd->machine->walls;

	if (!w->in_force[WALL_FREEZE])
		return err_set(e, E_BACKEND, "no session can be paused here: %s", w->missing[WALL_FREEZE]);
	if (session_remember_pause(s, true, e) == -1 || on_forward(s, m, e) == -1)
		return -1;
	s->paused = true;
	return 0;
}

static int
on_unpause(struct session *s, const struct msg *m, struct err *e)
{
	return session_remember_pause(s, false, e) == -1 ? -1 : on_forward(s, m, e);
}

static int
on_delete(struct session *s, const struct msg *m, struct err *e)
{
	if (request_add(&s->pending, m, 0) == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	session_close(s, "deleted");
	return 0;
}

/* No worker has it yet, so nothing has to be killed. */
static void
cancel_held(struct session *s, struct request *r)
{
	struct err why;

	err_set(&why, E_STATE, "cancelled before it was started");
	counter_sub(&s->boxd->running, 1);
	request_fail(r, s->boxd, &why);
}

/* Nobody reads this stream any more; a worker that does not exist has nothing to detach. */
static void
tell_detach(const struct session *s, const struct request *r)
{
	if (s->child != NULL && r->held.bytes.len == 0)
		link_tell(child_link(s->child), MSG_DETACH, 0, 0, &(struct msg_detach){ .call = r->exec });
}

/* The process goes on. */
static void
cancel_attachment(struct session *s, struct request *r)
{
	struct err why;

	tell_detach(s, r);
	err_set(&why, E_STATE, "detached from process %s", r->attachment->process);
	request_fail(r, s->boxd, &why);
}

static int
on_cancel(struct session *s, const struct msg *m, struct err *e)
{
	struct request   *r = request_find(&s->pending, m->conn, ((const struct msg_cancel *)m->body)->call);
	struct msg_cancel c = { .call = r->exec };
	struct msg_done   done;

	if (r->attachment != NULL) {
		cancel_attachment(s, r);
		reply_send(s->boxd, MSG_DONE, m->conn, m->id, &done);
		return 0;
	}
	if (r->type != MSG_EXEC)
		return err_set(e, E_NOTFOUND, "request %lu is not a running command", r->id);
	if (r->held.bytes.len > 0)
		cancel_held(s, r);
	else if (s->child == NULL)
		return err_set(e, E_BUSY, "the session's worker is being restarted");
	else if (link_send(child_link(s->child), MSG_CANCEL, boxd_next_id(s->boxd), 0, &c, e) == -1)
		return -1;
	reply_send(s->boxd, MSG_DONE, m->conn, m->id, &done);
	return 0;
}

static int
on_output_ack(struct session *s, const struct msg *m, struct err *e)
{
	struct msg_output_ack a = *(const struct msg_output_ack *)m->body;
	struct request       *r = request_find(&s->pending, m->conn, a.call);

	if (a.offset > r->streamed_to[a.stream])
		return err_set(e, E_INVALID, "output_ack.offset: %lu is more than the %lu bytes sent", a.offset,
		    r->streamed_to[a.stream]);
	a.call = r->exec;
	if (r->attachment != NULL && a.stream == STREAM_STDOUT && a.offset > r->attachment->acked)
		r->attachment->acked = a.offset;
	if (s->child == NULL)
		return 0; /* the next worker learns it from the offsets in its start */
	return link_send(child_link(s->child), MSG_OUTPUT_ACK, 0, 0, &a, e);
}

/* Messages that need more than to be passed on. */
static int (*const on[MSG__COUNT])(struct session *, const struct msg *, struct err *) = {
	[MSG_CREATE] = on_create,
	[MSG_EXEC] = on_exec,
	[MSG_DELETE] = on_delete,
	[MSG_CANCEL] = on_cancel,
	[MSG_OUTPUT_ACK] = on_output_ack,
	[MSG_PAUSE] = on_pause,
	[MSG_UNPAUSE] = on_unpause,
	[MSG_PROCESS_START] = on_process_start,
	[MSG_PROCESS_ATTACH] = on_process_attach,
	[MSG_FILE_USAGE] = on_usage,
};

int
session_deliver(struct session *s, const struct msg *m, struct err *e)
{
	const struct route *r = msg_route(m->type);
	bool                passed = r->room == ROOM_WORKER || r->room == ROOM_FILES;

	if (on[m->type] == NULL && !passed)
		return err_set(e, E_PROTO, "a session takes no %s", msg_name(m->type));
	if (s->state == STATE_CLOSING && !(r->when & WHILE_CLOSING))
		return err_session(e, E_STATE, "session %s is being deleted", s->name);
	if (r->when & NEEDS_AWAKE && s->paused) {
		err_session(e, E_STATE, "session %s is paused; boxctl resume %s", s->name, s->name);
		return err_because(e, REASON_PAUSED, FIELD_NONE, 0);
	}
	return on[m->type] != NULL ? on[m->type](s, m, e) : on_forward(s, m, e);
}

bool
session_exec_waits(const struct session *s, uint64_t id)
{
	const struct request *r = request_find(&s->pending, CONN_OWN, id);

	return r != NULL && r->type == MSG_EXEC && r->held.bytes.len > 0;
}

void
session_cancel_alone(struct session *s, struct request *r)
{
	struct msg_cancel c = { .call = r->exec };

	if (r->held.bytes.len > 0)
		cancel_held(s, r);
	else if (s->child != NULL) /* else cancel_abandoned() does it when the next worker is ready */
		link_tell(child_link(s->child), MSG_CANCEL, boxd_next_id(s->boxd), 0, &c);
}

void
session_lose_client(struct request *r)
{
	struct session *s = r->of->session;

	request_forget_client(r);
	if (r->streamed)
		tell_detach(s, r);
	if (r->type == MSG_EXEC && r->dies_alone)
		session_cancel_alone(s, r);
}
