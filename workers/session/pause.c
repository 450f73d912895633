/*
 * Pause: every process of the session but init stops where it is.
 *
 *	RUNNING -> ASKED (init) -> FREEZING -> PAUSED -> RUNNING
 *
 * A newborn that is frozen between its birth and its execve would keep init, which
 * waits for that, from serving anybody.  So init is asked first: when it answers, each
 * command that we sent before has been executed.  The supervisor takes no others until
 * the session goes on, and one that it took before and comes now is refused (exec_start).
 *
 * The state file says what is wanted and is written by the supervisor before it asks; a
 * worker that takes over freezes or thaws by it, wherever the one before had come to.
 */

#include "base/log.h"
#include "worker.h"

static const double LOOK_SEC = 0.002; /* most stop within a tenth of that */

static void
pause_finish(struct worker *w, enum pause_state to, const struct err *why)
{
	struct msg_done done;

	ev_timer_stop(w->loop, &w->pause_look);
	w->pause = to;
	if (why != NULL)
		link_tell_failure(w->up, w->pause_id, 0, why);
	else
		link_tell_reply(w->up, MSG_DONE, w->pause_id, 0, &done);
}

static void
give_up(struct worker *w, const struct err *why)
{
	cgroup_thaw(&w->cgroup);
	pause_finish(w, RUNNING, why);
}

static void
on_look(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct worker *w = t->data;
	struct err     e;

	if (w->pause == FREEZING && cgroup_is_frozen(&w->cgroup)) {
		pause_finish(w, PAUSED, NULL);
	} else if (ev_now(loop) >= w->pause_until) {
		err_session(&e, E_BUSY, "not every process of session %s stopped within %.0f s; the session continues",
		    w->name, LIM_PAUSE_SEC);
		give_up(w, &e);
	}
}

int
pause_start(struct worker *w, struct msg *m, struct err *e)
{
	struct msg_done done;

	if (w->pause == PAUSED)
		return link_reply(w->up, MSG_DONE, m->id, 0, &done, e);
	if (w->pause != RUNNING)
		return err_session(e, E_BUSY, "session %s is being paused already", w->name);
	if (cgroup_can_freeze(&w->cgroup, e) == -1)
		return -1;
	if (link_send(w->down, MSG_PING, PAUSE_PING, 0, &(struct msg_ping){}, e) == -1)
		return -1;
	w->pause = ASKED;
	w->pause_id = m->id;
	w->pause_until = ev_now(w->loop) + LIM_PAUSE_SEC;
	ev_timer_init(&w->pause_look, on_look, LOOK_SEC, LOOK_SEC);
	w->pause_look.data = w;
	ev_timer_start(w->loop, &w->pause_look);
	return 0;
}

void
pause_init_answered(struct worker *w)
{
	struct err e;

	if (w->pause != ASKED)
		return;
	w->pause = FREEZING;
	if (cgroup_freeze(&w->cgroup, &e) == -1)
		give_up(w, &e);
	else if (cgroup_is_frozen(&w->cgroup))
		pause_finish(w, PAUSED, NULL);
}

int
pause_end(struct worker *w, struct msg *m, struct err *e)
{
	struct msg_done done;

	if (w->pause == ASKED || w->pause == FREEZING)
		return err_session(e, E_BUSY, "session %s is being paused", w->name);
	if (w->pause == PAUSED) {
		cgroup_thaw(&w->cgroup);
		w->pause = RUNNING;
	}
	return link_reply(w->up, MSG_DONE, m->id, 0, &done, e);
}

void
pause_adopt(struct worker *w)
{
	struct err e;

	w->pause = w->about.paused ? PAUSED : RUNNING;
	if (w->pause == RUNNING)
		cgroup_thaw(&w->cgroup);
	else if (cgroup_freeze(&w->cgroup, &e) == -1)
		log_warn("session=%lu %s", w->about.id, e.text);
}

void
pause_close(struct worker *w)
{
	ev_timer_stop(w->loop, &w->pause_look);
}
