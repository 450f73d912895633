#include "watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fd.h"
#include "log.h"
#include "scanner.h"
#include "worker.h"

enum phase { BEFORE, DURING, AFTER, BACKGROUND };

static const char *const phase_text[] = {
	[BEFORE] = "before execution",
	[DURING] = "during execution",
	[AFTER] = "after execution",
	[BACKGROUND] = "by a background process",
};

/* A command that waits for a scan that began after it came, or after it ended. */
struct held {
	TAILQ_ENTRY(held) next;
	struct watch   *watch;
	ev_timer        patience; /* BEFORE: the command's own timeout; AFTER: ours */
	uint64_t        exec;
	enum phase      phase;
	uint64_t        scan; /* at least this one */
	struct msg_exec body; /* BEFORE; borrows from the next */
	struct kept     kept;
};

struct watch {
	struct worker    *worker;
	struct scanner    scanner;
	ev_io             answer;
	ev_timer          again; /* runs while somebody may write, between scans */
	uint64_t          max_bytes, max_entries;
	uint64_t          scan;     /* number of the last one begun */
	bool              scanning; /* and it has not answered */
	unsigned          over;     /* scans in a row that found too much */
	struct scan_total last;
	TAILQ_HEAD(, held) held; /* owned */
};

/* ---- too much? ------------------------------------------------------------------------ */

static bool
is_over(const struct watch *w, const struct scan_total *t)
{
	return t->bytes > w->max_bytes || t->end == SCAN_MANY || t->end == SCAN_DEEP;
}

/* The first two are what LangBot's own check says, to the letter. */
static void
tell(const struct watch *w, enum phase phase, struct err *e)
{
	const struct scan_total *t = &w->last;
	const char              *path = w->worker->about.spec.host_path, *name = w->worker->name;

	if (t->end == SCAN_MANY)
		err_set(e, E_QUOTA, "workspace entry limit exceeded %s: entries>%lu host_path=%s session_id=%s",
		    phase_text[phase], w->max_entries, path, name);
	else if (t->end == SCAN_DEEP)
		err_set(e, E_QUOTA, "workspace depth limit exceeded %s: depth>%d host_path=%s session_id=%s",
		    phase_text[phase], LIM_SCAN_DEPTH, path, name);
	else
		err_set(e, E_QUOTA,
		    "workspace quota exceeded %s: used=%lu bytes limit=%lu bytes entries=%lu host_path=%s "
		    "session_id=%s",
		    phase_text[phase], t->bytes, w->max_bytes, t->entries, path, name);
}

/* ---- scanning --------------------------------------------------------------------------- */

static void
scan(struct watch *w)
{
	struct err e = { 0 };

	if (w->scanning)
		return;
	ev_timer_stop(w->worker->loop, &w->again);
	w->scan++;
	w->scanning = true;
	if (scanner_ask(&w->scanner, &e) == -1)
		worker_broken(w->worker, &e);
}

static void
on_again(struct ev_loop *loop, ev_timer *t, int revents)
{
	(void)loop;
	(void)revents;
	scan(t->data);
}

static bool
is_waited_for(const struct watch *w)
{
	const struct held *h;

	TAILQ_FOREACH (h, &w->held, next)
		if (h->scan > w->scan)
			return true;
	return false;
}

/* At once for who waits, or to look twice; else while somebody lives that can write. */
static void
scan_again(struct watch *w)
{
	double sec = (double)w->last.took_us / 1e6 * LIM_SCAN_REST;

	if (w->worker->state != READY)
		return;
	if (is_waited_for(w) || w->over == 1) {
		scan(w);
		return;
	}
	if (!exec_running(w->worker) && cgroup_population(&w->worker->cgroup) == 0)
		return;
	sec = sec < LIM_SCAN_MIN_SEC ? LIM_SCAN_MIN_SEC : sec > LIM_SCAN_MAX_SEC ? LIM_SCAN_MAX_SEC : sec;
	ev_timer_stop(w->worker->loop, &w->again);
	ev_timer_set(&w->again, sec, 0.);
	ev_timer_start(w->worker->loop, &w->again);
}

/* ---- those who wait ---------------------------------------------------------------------- */

static void
held_drop(struct watch *w, struct held *h)
{
	ev_timer_stop(w->worker->loop, &h->patience);
	TAILQ_REMOVE(&w->held, h, next);
	kept_clear(&h->kept);
	free(h);
}

/* A disk that hangs holds the scan, but not the one who asked. */
static void
on_patience(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct held  *h = t->data;
	struct watch *w = h->watch;
	struct err    e, ignored;

	(void)loop;
	(void)revents;
	if (h->phase == AFTER) {
		log_warn("session=%lu exec=%lu not measured: the scan hangs", w->worker->about.id, h->exec);
		exec_measured(w->worker, h->exec, NULL);
	} else {
		err_set(
		    &e, E_BUSY, "the workspace could not be measured within the command's timeout; it was not started");
		link_fail(w->worker->up, h->exec, 0, &e, &ignored);
	}
	held_drop(w, h);
}

static struct held *
hold(struct watch *w, uint64_t exec, enum phase phase, double sec)
{
	struct held *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->watch = w;
	h->exec = exec;
	h->phase = phase;
	ev_timer_init(&h->patience, on_patience, sec, 0.);
	h->patience.data = h;
	if (sec > 0)
		ev_timer_start(w->worker->loop, &h->patience);
	h->scan = w->scan + 1; /* the one under way may have seen the place before */
	TAILQ_INSERT_TAIL(&w->held, h, next);
	return h;
}

static void
start_now(struct watch *w, struct held *h)
{
	struct msg m = { .envelope = ENV_REQUEST, .type = MSG_EXEC, .id = h->exec, .body = &h->body };
	struct err e = { 0 }, ignored;

	if (exec_start(w->worker, &m, &e) == -1)
		link_fail(w->worker->up, h->exec, 0, &e, &ignored);
}

static void
release(struct watch *w, struct held *h, bool over)
{
	struct err e = { 0 }, ignored;

	if (over)
		tell(w, h->phase, &e);
	if (h->phase == AFTER)
		exec_measured(w->worker, h->exec, over ? &e : NULL);
	else if (over)
		link_fail(w->worker->up, h->exec, 0, &e, &ignored);
	else
		start_now(w, h);
	held_drop(w, h);
}

static void
release_all(struct watch *w, bool over)
{
	struct held *h, *next;

	for (h = TAILQ_FIRST(&w->held); h != NULL && w->worker->state == READY; h = next) {
		next = TAILQ_NEXT(h, next);
		if (h->scan <= w->scan)
			release(w, h, over);
	}
}

/* ---- what a scan found ---------------------------------------------------------------------- */

static void
believe(struct watch *w, bool growing)
{
	struct err e = { 0 };

	if (exec_running(w->worker)) {
		tell(w, DURING, &e);
		log_info("session=%lu %s", w->worker->about.id, log_escape(e.text, strlen(e.text)));
		exec_kill_all(w->worker, &e);
	} else if (growing && cgroup_population(&w->worker->cgroup) > 0) {
		tell(w, BACKGROUND, &e);
		worker_broken(w->worker, &e);
	}
}

static void
found(struct watch *w, const struct scan_total *t)
{
	bool growing = w->over > 0 && t->bytes > w->last.bytes;

	w->last = *t;
	w->over = is_over(w, t) ? w->over + 1 : 0;
	if (w->over == 1) { /* look twice; a scan that was waited for is the second now */
		scan_again(w);
		return;
	}
	release_all(w, w->over > 1);
	if (w->over > 1)
		believe(w, growing);
	scan_again(w);
}

static void
on_answer(struct ev_loop *loop, ev_io *io, int revents)
{
	struct watch     *w = io->data;
	struct scan_total t;
	struct err        e = { 0 };
	int               r = scanner_answer(&w->scanner, &t, &e);

	(void)revents;
	if (r == 1)
		return;
	w->scanning = false;
	if (r == 0 && t.end == SCAN_BROKEN)
		r = err_set(&e, E_SYS, "the workspace %s cannot be measured: %s", w->worker->about.spec.host_path,
		    strerror(t.error));
	if (r == -1) { /* what cannot be watched is not run */
		ev_io_stop(loop, io);
		worker_broken(w->worker, &e);
		return;
	}
	found(w, &t);
}

/* ---- for the worker ----------------------------------------------------------------------------- */

struct watch *
watch_open(struct worker *worker, const struct msg_disk *limits, struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));
	char          path[64];

	if (w == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	*w = (struct watch){ .worker = worker, .max_bytes = limits->limit_bytes, .max_entries = limits->limit_inodes };
	TAILQ_INIT(&w->held);
	snprintf(path, sizeof(path), "/proc/%d/root/proc", worker->box.pid);
	AUTO_FD int proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scanner_start(&w->scanner, worker->mounts.workspace, proc, w->max_entries, e) == -1) {
		free(w);
		return NULL;
	}
	ev_io_init(&w->answer, on_answer, w->scanner.fd, EV_READ);
	ev_timer_init(&w->again, on_again, 0., 0.);
	w->answer.data = w->again.data = w;
	ev_io_start(worker->loop, &w->answer);
	return w;
}

void
watch_wake(struct watch *w)
{
	scan_again(w);
}

int
watch_before(struct watch *w, struct msg *m, struct err *e)
{
	const struct msg_exec *x = m->body;
	struct held           *h = hold(w, m->id, BEFORE, (double)x->timeout_ms / 1e3);

	if (h == NULL)
		return err_set(e, E_SYS, "no memory for a command");
	h->body = *x;
	if (kept_set(&h->kept, MSG_EXEC, &h->body, e) == -1) {
		held_drop(w, h);
		return -1;
	}
	scan(w);
	return 0;
}

int
watch_cancel(struct watch *w, uint64_t exec)
{
	struct held *h;
	struct err   why, ignored;

	TAILQ_FOREACH (h, &w->held, next)
		if (h->exec == exec && h->phase == BEFORE)
			break;
	if (h == NULL)
		return -1;
	err_set(&why, E_STATE, "cancelled before it was started");
	link_fail(w->worker->up, exec, 0, &why, &ignored);
	held_drop(w, h);
	return 0;
}

void
watch_after(struct watch *w, uint64_t exec)
{
	if (hold(w, exec, AFTER, LIM_MEASURE_SEC) == NULL)
		exec_measured(w->worker, exec, NULL);
	else
		scan(w);
}

void
watch_fail_all(struct watch *w, const struct err *why)
{
	struct err ignored;

	while (!TAILQ_EMPTY(&w->held)) {
		struct held *h = TAILQ_FIRST(&w->held);

		if (h->phase == BEFORE)
			link_fail(w->worker->up, h->exec, 0, why, &ignored);
		held_drop(w, h);
	}
}

void
watch_close(struct watch **wp)
{
	struct watch *w = *wp;

	if (w == NULL)
		return;
	*wp = NULL;
	ev_io_stop(w->worker->loop, &w->answer);
	ev_timer_stop(w->worker->loop, &w->again);
	while (!TAILQ_EMPTY(&w->held))
		held_drop(w, TAILQ_FIRST(&w->held));
	scanner_stop(&w->scanner);
	free(w);
}
