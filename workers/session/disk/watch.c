#include "disk/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "disk/scanner.h"
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
	struct watch    *watch;
	ev_timer         patience; /* BEFORE: runs for the command's own timeout */
	uint64_t         exec;
	enum phase       phase;
	uint64_t         scan; /* at least this one */
	struct msg_exec  body; /* BEFORE; borrows from the next */
	struct owned_msg kept;
	int              mounts; /* owned; BEFORE: its mount namespace, or -1 */
};

struct watch {
	struct worker    *worker;
	struct scanner    scanner;
	ev_io             answer;
	ev_timer          again; /* runs while somebody may write, between scans */
	ev_timer          late;  /* runs during a scan */
	uint64_t          max_bytes, max_entries;
	uint64_t          scan;      /* number of the last one begun */
	bool              scanning;  /* and it has not answered */
	bool              quiet;     /* no command ran when it began, */
	bool              was_quiet; /* nor when the one before did */
	unsigned          over;      /* scans in a row that found too much */
	unsigned          blind;     /* scans in a row that something was hidden from */
	struct scan_total last;
	bool              lost;   /* nobody measures any more: the worker ends when no command is left */
	struct err        reason; /* then */
	TAILQ_HEAD(, held) held;  /* owned */
};

/* ---- too much? ------------------------------------------------------------------------ */

static bool
is_over(const struct watch *w, const struct scan_total *t)
{
	return t->bytes > w->max_bytes || t->end != SCAN_WHOLE || w->blind >= LIM_SCAN_HIDDEN;
}

/* Why the quota cannot be checked. */
static const char *
obstacle(const struct scan_total *t, char text[128])
{
	if (t->end == SCAN_OPEN)
		snprintf(text, 128, "more than %d open descriptors and mappings", LIM_SCAN_OPEN);
	else if (t->end == SCAN_BROKEN)
		snprintf(text, 128, "%s", strerror(t->error));
	else
		snprintf(text, 128, "%lu descriptors wait in sockets, or processes cannot be looked into", t->hidden);
	return text;
}

/* Whose; LangBot's words, where it has some. */
static void
tell_where(const struct watch *w, struct err *e)
{
	size_t used = strlen(e->text), len = strlen(w->worker->name);

	used += (size_t)snprintf(e->text + used, sizeof(e->text) - used, " host_path=%s session_id=%s",
	    w->worker->about.spec.host_path, w->worker->name);
	if (used < sizeof(e->text))
		e->part[PART_SESSION] = (struct err_span){ (uint16_t)(used - len), (uint16_t)len };
}

/* The first two are what LangBot's own check says, to the letter. */
static void
tell(const struct watch *w, enum phase phase, struct err *e)
{
	const struct scan_total *t = &w->last;
	char                     text[128];

	if (w->lost)
		*e = w->reason;
	else if (t->end == SCAN_MANY)
		err_set_part(e, E_QUOTA, PART_WHEN, "workspace entry limit exceeded %s: entries>%lu", phase_text[phase],
		    w->max_entries);
	else if (t->end == SCAN_DEEP)
		err_set_part(e, E_QUOTA, PART_WHEN, "workspace depth limit exceeded %s: depth>%d", phase_text[phase],
		    LIM_SCAN_DEPTH);
	else if (t->bytes > w->max_bytes)
		err_set_part(e, E_QUOTA, PART_WHEN,
		    "workspace quota exceeded %s: used=%lu bytes limit=%lu bytes entries=%lu", phase_text[phase],
		    t->bytes, w->max_bytes, t->entries);
	else
		err_set_part(e, E_QUOTA, PART_WHEN, "workspace quota cannot be checked %s: %s", phase_text[phase],
		    obstacle(t, text));
	if (!w->lost)
		tell_where(w, e);
	err_because(e, phase == DURING && !w->lost ? REASON_OUTGROWN : REASON_OVER, FIELD_NONE, 0);
}

/* ---- scanning --------------------------------------------------------------------------- */

static void
scan(struct watch *w)
{
	struct err e = { 0 };

	if (w->scanning || w->lost)
		return;
	ev_timer_stop(w->worker->loop, &w->again);
	w->scan++;
	w->scanning = true;
	w->quiet = !exec_running(w->worker);
	ev_timer_set(&w->late, LIM_MEASURE_SEC, 0.);
	ev_timer_start(w->worker->loop, &w->late);
	if (scanner_ask(&w->scanner, &e) == -1)
		ev_feed_event(w->worker->loop, &w->answer, EV_READ); /* which finds it gone */
}

static void end_if_idle(struct watch *);

static void
on_again(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct watch *w = t->data;

	if (w->lost)
		end_if_idle(w);
	else
		scan(w);
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

	if (w->worker->state != READY || w->lost)
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
	owned_msg_clear(&h->kept);
	fd_close(&h->mounts);
	free(h);
}

/* A disk that hangs holds the scan, but not the one who asked. */
static void
on_patience(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct held  *h = t->data;
	struct watch *w = h->watch;
	struct err    e;

	err_set(&e, E_BUSY, "the workspace could not be measured within the command's timeout; it was not started");
	link_tell_failure(w->worker->up, h->exec, 0, &e);
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
	h->mounts = -1;
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
	struct err e = { 0 };

	if (exec_start(w->worker, &m, h->mounts, &e) == -1)
		link_tell_failure(w->worker->up, h->exec, 0, &e);
}

static void
release(struct watch *w, struct held *h, bool over)
{
	struct err e = { 0 };

	if (over)
		tell(w, h->phase, &e);
	if (h->phase == AFTER)
		exec_measured(w->worker, h->exec, over ? &e : NULL);
	else if (over)
		link_tell_failure(w->worker->up, h->exec, 0, &e);
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

/*
 * Something hidden does not make a scan that found too much undone, nor one that found
 * little a good one: whoever hides a file when we look has to show it at another time.
 */
static void
found(struct watch *w, const struct scan_total *t)
{
	/* what a command wrote before it was killed is not a background process's */
	bool growing = w->over > 0 && w->was_quiet && (t->bytes > w->last.bytes || t->end != SCAN_WHOLE);

	w->was_quiet = w->quiet;
	w->last = *t;
	w->blind = t->hidden == 0 ? 0 : w->blind + (w->worker->pause == RUNNING);
	if (is_over(w, t))
		w->over++;
	else if (t->hidden == 0)
		w->over = 0;
	if (w->over == 1) { /* look twice; a scan that was waited for is the second now */
		scan_again(w);
		return;
	}
	release_all(w, w->over > 1);
	if (w->over > 1)
		believe(w, growing);
	scan_again(w);
}

/* ---- when nobody measures ---------------------------------------------------------------------- */

/* What is not answered yet, the next worker would answer with another cause. */
static void
end_if_idle(struct watch *w)
{
	if (w->worker->state != READY)
		return;
	if (!exec_running(w->worker) && link_queued(w->worker->up) == 0) {
		log_warn("session=%lu the worker ends, to be replaced by one that can measure the workspace",
		    w->worker->about.id);
		ev_break(w->worker->loop, EVBREAK_ALL);
		return;
	}
	ev_timer_set(&w->again, LIM_SCAN_MIN_SEC, 0.);
	ev_timer_start(w->worker->loop, &w->again);
}

static void
lose(struct watch *w, const char *why)
{
	ev_io_stop(w->worker->loop, &w->answer);
	ev_timer_stop(w->worker->loop, &w->late);
	ev_timer_stop(w->worker->loop, &w->again);
	scanner_stop(&w->scanner);
	w->lost = true;
	w->scan++; /* whoever waits for the next one waits in vain */
	err_set(&w->reason, E_QUOTA, "workspace quota cannot be checked: %s", why);
	tell_where(w, &w->reason);
	log_error("session=%lu %s", w->worker->about.id, log_escape(w->reason.text, strlen(w->reason.text)));
	release_all(w, true);
	exec_kill_all(w->worker, &w->reason);
	end_if_idle(w);
}

static void
on_late(struct ev_loop *loop, ev_timer *t, int revents)
{
	char why[96];

	snprintf(why, sizeof(why), "the process that measures it did not answer within %.0f s", LIM_MEASURE_SEC);
	lose(t->data, why);
}

static void
on_answer(struct ev_loop *loop, ev_io *io, int revents)
{
	struct watch     *w = io->data;
	struct scan_total t;
	struct err        e = { 0 };
	int               r = scanner_answer(&w->scanner, &t, &e);

	if (r == 1 || w->lost)
		return;
	if (r == -1) {
		lose(w, "the process that measures it died");
		return;
	}
	ev_timer_stop(loop, &w->late);
	w->scanning = false;
	found(w, &t);
}

/* ---- for the worker ----------------------------------------------------------------------------- */

/* The sandbox's /proc, and not the host's; whether it is one at all is checked by whoever reads it. */
static int
open_proc(const struct worker *worker, struct err *e)
{
	char        path[64];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "/proc/%d/root/proc", worker->box.pid);
	AUTO_FD int proc = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (proc == -1 || fstat(proc, &theirs) == -1 || stat("/proc", &ours) == -1)
		return err_sys(e, "open the sandbox's /proc to measure its open files");
	if (ours.st_dev == theirs.st_dev)
		return err_set(e, E_BACKEND, "the sandbox's /proc is the host's");
	return fd_take(&proc);
}

/* Room for scanners beside the commands, so that they are charged to the session and not to its client. */
static void
add_room(struct worker *worker, unsigned scanners)
{
	worker->cgroup.helpers += scanners * SCANNERS;
	worker->cgroup.helpers_mb += scanners * (scan_memory(worker->disk.watched.entries) / MIB + LIM_SCAN_MB);
}

static int
watch_start(struct worker *worker, bool given_away, struct scanner *s, struct err *e)
{
	int         places[1 + LIM_MOUNTS];
	size_t      n = 0;
	AUTO_FD int proc = open_proc(worker, e);

	if (proc == -1)
		return -1;
	add_room(worker, given_away ? 2 : 1); /* one that is given away has another before it, for a moment */
	if (cgroup_limit(&worker->cgroup, &worker->about.spec, e) == -1)
		return -1;
	if (worker->disk.watches_host)
		places[n++] = worker->mounts.workspace;
	for (size_t i = 0; i < worker->mounts.nextra; i++)
		places[n++] = worker->mounts.extra[i];
	for (size_t i = 0; i < n; i++)
		if (places[i] == -1)
			return err_set(e, E_BACKEND,
			    "the directories with a quota are not found again, so they cannot be measured");
	struct scanner_plan plan = {
		.places = places,
		.nplaces = n,
		.proc = proc,
		.max_entries = worker->disk.watched.entries,
		.uid = worker->cgroup.ids.worker,
		.is_root = worker->about.uid_count > 1,
		.cgroup = &worker->cgroup,
		.given_away = given_away,
	};
	return scanner_start(s, &plan, e);
}

int
watch_start_scanner(struct worker *worker, struct scanner *s, struct err *e)
{
	return watch_start(worker, true, s, e);
}

static struct watch *
watch_new(struct worker *worker, struct err *e)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	*w = (struct watch){
		.worker = worker,
		.scanner = SCANNER_NONE,
		.max_bytes = worker->disk.watched.bytes,
		.max_entries = worker->disk.watched.entries,
	};
	TAILQ_INIT(&w->held);
	ev_init(&w->answer, on_answer);
	ev_timer_init(&w->again, on_again, 0., 0.);
	ev_timer_init(&w->late, on_late, 0., 0.);
	w->answer.data = w->again.data = w->late.data = w;
	return w;
}

static void
listen_to(struct watch *w)
{
	ev_io_set(&w->answer, w->scanner.fd, EV_READ);
	ev_io_start(w->worker->loop, &w->answer);
}

struct watch *
watch_open(struct worker *worker, struct err *e)
{
	struct watch *w = watch_new(worker, e);

	if (w != NULL && watch_start(worker, false, &w->scanner, e) == -1) {
		err_prefix(e, "spec.workspace_quota_mb");
		watch_close(&w);
	}
	if (w != NULL)
		listen_to(w);
	return w;
}

/* It was started with room for two; whatever waits for an answer of the old one gets one of the new one. */
static void
take_over(struct watch *w, struct scanner *s)
{
	struct err e;

	ev_io_stop(w->worker->loop, &w->answer);
	ev_timer_stop(w->worker->loop, &w->late);
	scanner_stop(&w->scanner);
	w->scanner = *s;
	*s = SCANNER_NONE;
	listen_to(w);
	if (cgroup_limit(&w->worker->cgroup, &w->worker->about.spec, &e) == -1)
		log_warn("session=%lu %s", w->worker->about.id, e.text);
	if (!w->scanning)
		return;
	w->scanning = false;
	scan(w);
}

int
watch_take_scanner(struct worker *worker, struct scanner *s, struct err *e)
{
	worker->disk.watched = worker->disk.quota;
	if (worker->watch == NULL) {
		if ((worker->watch = watch_new(worker, e)) == NULL)
			return -1;
		add_room(worker, 1);
	}
	if (!worker->watch->lost) /* else the worker ends, and the next has one of its own */
		take_over(worker->watch, s);
	return 0;
}

void
watch_wake(struct watch *w)
{
	scan_again(w);
}

int
watch_before(struct watch *w, struct msg *m, int mounts, struct err *e)
{
	const struct msg_exec *x = m->body;

	if (w->lost) {
		*e = w->reason;
		return -1;
	}
	struct held *h = hold(w, m->id, BEFORE, (double)x->timeout_ms / 1e3);

	if (h == NULL)
		return err_set(e, E_SYS, "no memory for a command");
	h->body = *x;
	h->mounts = mounts == -1 ? -1 : fcntl(mounts, F_DUPFD_CLOEXEC, 0);
	if (owned_msg_copy(&h->kept, MSG_EXEC, &h->body, e) == -1) {
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
	struct err   why;

	TAILQ_FOREACH (h, &w->held, next)
		if (h->exec == exec && h->phase == BEFORE)
			break;
	if (h == NULL)
		return -1;
	err_set(&why, E_STATE, "cancelled before it was started");
	link_tell_failure(w->worker->up, exec, 0, &why);
	held_drop(w, h);
	return 0;
}

void
watch_after(struct watch *w, uint64_t exec)
{
	if (w->lost)
		exec_measured(w->worker, exec, &w->reason);
	else if (hold(w, exec, AFTER, 0.) == NULL)
		exec_measured(w->worker, exec, NULL);
	else
		scan(w);
}

void
watch_fail_all(struct watch *w, const struct err *why)
{
	while (!TAILQ_EMPTY(&w->held)) {
		struct held *h = TAILQ_FIRST(&w->held);

		if (h->phase == BEFORE)
			link_tell_failure(w->worker->up, h->exec, 0, why);
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
	ev_timer_stop(w->worker->loop, &w->late);
	while (!TAILQ_EMPTY(&w->held))
		held_drop(w, TAILQ_FIRST(&w->held));
	scanner_stop(&w->scanner);
	free(w);
}
