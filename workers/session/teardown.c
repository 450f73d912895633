/*
 * How a sandbox goes: kill, wait for init's pidfd, remove the cgroups (busy until
 * the last zombie is gone), remove the files, answer.  A confined worker removes what is
 * its own, and the supervisor the rest when it has the answer.
 */
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sys.h"
#include "host/statefile.h"
#include "worker.h"

enum { RETRY_MS = 2 };

static void
give_up(struct worker *w, const struct err *why)
{
	log_error("session=%lu leftovers: %s", w->about.id, why->text);
	w->state = CLOSED;
	link_tell_failure(w->up, w->close_id, 0, why);
}

/* What is in the state directory; a confined worker leaves it to the supervisor. */
static int
remove_files(struct err *e)
{
	int left = disk_drop(e);

	if (left != -1) {
		unlink(STATE_CONTROL);
		unlink(STATE_FILE);
	}
	return left;
}

static void
close_reply(struct worker *w)
{
	struct msg_closed closed = { .killed = w->killed };
	struct err        e = { 0 };
	int               left = w->confined ? 0 : remove_files(&e);

	if (left == -1) {
		give_up(w, &e);
		return;
	}
	closed.left = left == 1;
	w->state = CLOSED;
	link_tell_reply(w->up, MSG_CLOSED, w->close_id, 0, &closed);
}

static void
remove_all(struct worker *w)
{
	struct err e = { 0 };
	int        r = cgroup_remove(&w->cgroup, !w->confined, &e);

	if (r == 0) {
		close_reply(w);
	} else if (r == -1) {
		give_up(w, &e);
	} else if (ev_now(w->loop) > w->close_until) {
		err_set(&e, E_SYS, "processes of the session do not die within %.0f s", LIM_CLOSE_SEC);
		give_up(w, &e);
	} else {
		cgroup_kill(&w->cgroup);
		ev_timer_start(w->loop, &w->retry);
	}
}

static void
on_retry(struct ev_loop *loop, ev_timer *t, int revents)
{
	remove_all(t->data);
}

static void
kill_init(struct worker *w)
{
	ids_act_as_sandbox(&w->cgroup.ids);
	sys_pidfd_kill(w->box.pidfd, SIGKILL);
	ids_act_as_ourselves(&w->cgroup.ids);
}

void
teardown_start(struct worker *w, uint64_t request)
{
	struct err why;

	err_session(&why, E_STATE, "session %s is being deleted", w->name);
	bool has_helper = files_running(w);
	exec_fail_all(w, &why);
	files_fail_all(w, &why);
	processes_close(w, &why);
	ev_timer_stop(w->loop, &w->deadline);
	pause_close(w);
	watch_close(&w->watch); /* it is in the cgroups */
	w->state = CLOSING;
	w->close_id = request;
	w->close_until = ev_now(w->loop) + LIM_CLOSE_SEC;
	ev_timer_init(&w->retry, on_retry, RETRY_MS / 1000., 0.);
	w->retry.data = w;
	if (w->has_cgroup) {
		w->killed = cgroup_population(&w->cgroup);
		w->killed -= w->killed > 0 && has_helper;
		cgroup_kill(&w->cgroup);
	}
	if (w->box.pid > 0)
		kill_init(w); /* takes the whole pid namespace with it */
	else
		remove_all(w);
}

void
teardown_init_gone(struct worker *w)
{
	if (w->state == CLOSING)
		remove_all(w);
}
