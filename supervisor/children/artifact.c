/*
 * A hold waits for the job that makes its copy.  Each copy has one job, and each job one box-artifact:
 *
 *	WAITING -> ASKED	box-artifact judges the paths and reads the manifest
 *	ASKED   -> COPYING	its size is known, and there is room
 *	COPYING -> DONE		all files are copied and verified; when the process has ended the copy gets its name
 *	   any  -> FAILED	it said why, or died, or took too long; what it has written is removed
 *
 * Nobody sees a copy before it is DONE.
 */
#include "children/artifact_impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/child.h"
#include "config/mountrules.h"
#include "core/dirs.h"
#include "core/share.h"
#include "langbot/langbot.h"
#include "langbot/tenantroots.h"

enum stage { WAITING, ASKED, COPYING, DONE, FAILED };

struct want {
	char   digits[DIGEST_DIGITS + 1];
	char  *source, *manifest; /* owned */
	size_t index;             /* of the mount, for messages */
};

LIST_HEAD(holds, artifact_hold);

struct artifact_hold {
	LIST_ENTRY(artifact_hold) next; /* while it waits */
	struct artifacts *artifacts;
	struct shelf     *shelf;
	char              session[LIM_NAME + 1];
	struct want      *wants; /* owned; NULL when all was there */
	size_t            n;
	struct revision **got; /* owned; what is held */
	size_t            n_got;
	bool              waits;
	artifact_fn      *fn;
	void             *arg;
};

struct job {
	TAILQ_ENTRY(job) next;
	struct artifacts *artifacts;
	struct shelf     *shelf;
	struct want       want;
	char              session[LIM_NAME + 1]; /* whose rules hold */
	struct holds      holds;                 /* who waits for it; not owned */
	enum stage        stage;
	struct child     *child;      /* owned; from ASKED on */
	ev_timer          copy_timer; /* runs with it */
	uint64_t          number;
	uint64_t          bytes, entries;
	bool              reserved;
	struct err        why;
};

/* ---- wants --------------------------------------------------------------------------------------- */

static int
want_set(struct want *w, const struct msg_mount *m, size_t index)
{
	snprintf(w->digits, sizeof(w->digits), "%s", digest_of(m));
	w->source = strdup(m->host_path);
	w->manifest = strdup(m->manifest_path);
	w->index = index;
	return w->source != NULL && w->manifest != NULL ? 0 : -1;
}

static void
want_clear(struct want *w)
{
	free(w->source);
	free(w->manifest);
}

static bool
same_origin(const struct want *a, const struct want *b)
{
	return strcmp(a->source, b->source) == 0 && strcmp(a->manifest, b->manifest) == 0;
}

/* ---- jobs ------------------------------------------------------------------------------------------ */

static void
job_free(struct job *j)
{
	ev_timer_stop(j->artifacts->boxd->loop, &j->copy_timer);
	child_end(&j->child);
	want_clear(&j->want);
	free(j);
}

static void
job_fail(struct job *j, const struct err *why)
{
	if (j->stage == FAILED)
		return;
	j->stage = FAILED;
	j->why = *why;
	if (j->child != NULL)
		child_kill(j->child);
}

static struct job *
job_in(const struct jobs *in, const struct shelf *s, const char *digits)
{
	struct job *j;

	TAILQ_FOREACH (j, in, next)
		if (j->shelf == s && strcmp(j->want.digits, digits) == 0)
			return j;
	return NULL;
}

static int
job_room(const struct artifacts *a, const struct shelf *s, struct err *e)
{
	if (a->n_waiting >= LIM_ARTIFACT_WAITING)
		return err_set(e, E_BUSY, "%zu artifacts wait to be copied already", a->n_waiting);
	return share_check(
	    a->boxd->config, s->waiting, LIM_ARTIFACT_WAITING, E_BUSY, "too many artifacts wait to be copied", e);
}

static void start_soon(struct artifacts *);
static void on_copy_timer(struct ev_loop *, ev_timer *, int);

static struct job *
job_add(struct artifact_hold *h, const struct want *w, struct err *e)
{
	struct artifacts *a = h->artifacts;
	struct job       *j = job_room(a, h->shelf, e) == -1 ? NULL : calloc(1, sizeof(*j));

	if (j == NULL) {
		if (e->code != E_BUSY)
			err_set(e, E_SYS, "no memory for an artifact");
		return NULL;
	}
	j->artifacts = a;
	j->shelf = h->shelf;
	j->want = *w;
	j->want.source = strdup(w->source);
	j->want.manifest = strdup(w->manifest);
	snprintf(j->session, sizeof(j->session), "%s", h->session);
	LIST_INIT(&j->holds);
	ev_timer_init(&j->copy_timer, on_copy_timer, LIM_ARTIFACT_SEC, 0.);
	j->copy_timer.data = j;
	TAILQ_INSERT_TAIL(&a->waiting, j, next);
	a->n_waiting++;
	j->shelf->waiting++;
	start_soon(a);
	return j;
}

/* ---- holds ------------------------------------------------------------------------------------------- */

static void
hold_take(struct artifact_hold *h, struct revision *r)
{
	assert(h->n_got < h->n);
	cache_use(h->artifacts, r);
	r->holds++;
	h->got[h->n_got++] = r;
}

/* Holds the copies that exist: 0 it has all of them, 1 it waits for the next. */
static int
hold_go_on(struct artifact_hold *h, struct err *e)
{
	struct artifacts *a = h->artifacts;

	assert(!h->waits);
	while (h->n_got < h->n) {
		const struct want *w = &h->wants[h->n_got];
		struct revision   *r = cache_find(a, h->shelf, w->digits);
		struct job        *j = NULL;

		if (r != NULL) {
			hold_take(h, r);
			continue;
		}
		if ((j = job_in(&a->running, h->shelf, w->digits)) == NULL &&
		    (j = job_in(&a->waiting, h->shelf, w->digits)) == NULL && (j = job_add(h, w, e)) == NULL)
			return -1;
		LIST_INSERT_HEAD(&j->holds, h, next);
		h->waits = true;
		return 1;
	}
	return 0;
}

/* Its job has ended.  If the job failed with another hold's paths, it tries its own. */
static void
hold_wake(struct artifact_hold *h, const struct want *w, const struct err *why)
{
	struct err e = { 0 };
	int        r = -1;

	h->waits = false;
	if (why != NULL && same_origin(w, &h->wants[h->n_got]))
		e = *why;
	else
		r = hold_go_on(h, &e);
	if (r != 1)
		h->fn(h->arg, r == 0 ? NULL : &e); /* may release it */
}

void
artifact_release(struct artifact_hold **hp)
{
	struct artifact_hold *h = *hp;

	if (h == NULL)
		return;
	*hp = NULL;
	if (h->waits)
		LIST_REMOVE(h, next);
	for (size_t i = 0; i < h->n_got; i++)
		counter_sub(&h->got[i]->holds, 1);
	for (size_t i = 0; h->wants != NULL && i < h->n; i++)
		want_clear(&h->wants[i]);
	free(h->wants);
	free(h->got);
	free(h);
}

uint64_t
artifact_newest(const struct artifact_hold *h)
{
	uint64_t newest = 0;

	for (size_t i = 0; h != NULL && i < h->n_got; i++)
		if (h->got[i]->number > newest)
			newest = h->got[i]->number;
	return newest;
}

static struct artifact_hold *
hold_new(struct boxd *boxd, const char *session, size_t n, struct err *e)
{
	struct artifact_hold *h = calloc(1, sizeof(*h));

	if (h == NULL || (h->got = calloc(n, sizeof(struct revision *))) == NULL ||
	    (h->shelf = cache_shelf(boxd->artifacts, session)) == NULL) {
		artifact_release(&h);
		err_set(e, E_SYS, "no memory for an artifact");
		return NULL;
	}
	h->artifacts = boxd->artifacts;
	h->n = n;
	snprintf(h->session, sizeof(h->session), "%s", session);
	return h;
}

/* In most cases every copy exists already; then the mounts need not be copied. */
static bool
hold_take_all(struct artifact_hold *h, const struct msg_mount *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (digest_of(&m[i]) != NULL && cache_find(h->artifacts, h->shelf, digest_of(&m[i])) == NULL)
			return false;
	for (size_t i = 0; i < n; i++)
		if (digest_of(&m[i]) != NULL)
			hold_take(h, cache_find(h->artifacts, h->shelf, digest_of(&m[i])));
	return true;
}

static int
hold_want(struct artifact_hold *h, const struct msg_mount *m, size_t n, struct err *e)
{
	size_t k = 0;
	int    r = 0;

	if ((h->wants = calloc(h->n, sizeof(*h->wants))) == NULL)
		r = -1;
	for (size_t i = 0; r == 0 && i < n; i++)
		if (digest_of(&m[i]) != NULL)
			r = want_set(&h->wants[k++], &m[i], i);
	h->n = k;
	return r == -1 ? err_set(e, E_SYS, "no memory for an artifact") : hold_go_on(h, e);
}

static size_t
count_addressed(const struct msg_mount *m, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += digest_of(&m[i]) != NULL;
	return k;
}

int
artifact_hold(struct boxd *boxd, const char *session, const struct msg_mount *m, size_t n, artifact_fn *fn, void *arg,
    struct artifact_hold **hold, struct err *e)
{
	size_t addressed = count_addressed(m, n);

	*hold = NULL;
	if (addressed == 0)
		return 0;
	struct artifact_hold *h = hold_new(boxd, session, addressed, e);
	if (h == NULL)
		return -1;
	h->fn = fn;
	h->arg = arg;
	int r = hold_take_all(h, m, n) ? 0 : hold_want(h, m, n, e);
	if (r == -1)
		artifact_release(&h);
	*hold = h;
	return r;
}

struct artifact_hold *
artifact_hold_again(struct boxd *boxd, const char *session, const struct msg_mount *m, size_t n)
{
	size_t                addressed = count_addressed(m, n);
	struct err            ignored;
	struct artifact_hold *h = addressed == 0 ? NULL : hold_new(boxd, session, addressed, &ignored);

	for (size_t i = 0; h != NULL && i < n; i++) {
		struct revision *r = digest_of(&m[i]) == NULL ? NULL
							      : cache_find(boxd->artifacts, h->shelf, digest_of(&m[i]));

		if (r != NULL)
			hold_take(h, r);
	}
	return h;
}

struct artifact_hold *
artifact_hold_all(struct boxd *boxd, const char *session)
{
	struct artifacts     *a = boxd->artifacts;
	struct shelf         *shelf = cache_shelf(a, session);
	struct err            ignored;
	struct artifact_hold *h = shelf == NULL || shelf->n == 0 ? NULL : hold_new(boxd, session, shelf->n, &ignored);
	struct revision      *r;

	if (h == NULL)
		return NULL;
	TAILQ_FOREACH (r, &a->by_use, next)
		if (r->shelf == shelf && h->n_got < h->n) {
			r->holds++;
			h->got[h->n_got++] = r;
		}
	return h;
}

/* ---- box-artifact -------------------------------------------------------------------------------------- */

static void
job_keep(struct job *j)
{
	struct err e = { 0 };

	if (cache_publish(j->artifacts, j->shelf, j->want.digits, j->number, j->bytes, j->entries, &e) == -1) {
		job_fail(j, &e);
		return;
	}
	log_info("artifact=%s/%s copied bytes=%lu entries=%lu", j->shelf->ns, j->want.digits, j->bytes, j->entries);
}

/* Its process is gone, or could not be started. */
static void
job_end(struct job *j)
{
	struct artifacts     *a = j->artifacts;
	struct holds          woken = LIST_HEAD_INITIALIZER(woken);
	struct artifact_hold *h;

	assert(j->child == NULL && (j->stage == DONE || j->stage == FAILED));
	assert(a->n_running > 0 && j->shelf->busy);
	TAILQ_REMOVE(&a->running, j, next);
	a->n_running--;
	j->shelf->busy = false;
	if (j->stage == DONE)
		job_keep(j);
	if (j->stage == FAILED) {
		log_info("artifact=%s/%s refused: %s", j->shelf->ns, j->want.digits, j->why.text);
		if (j->reserved)
			cache_give_back(a, j->shelf, j->bytes, j->entries);
		cache_unstage(a, j->number);
	}
	while ((h = LIST_FIRST(&j->holds)) != NULL) {
		LIST_REMOVE(h, next);
		LIST_INSERT_HEAD(&woken, h, next);
	}
	/* a hold that is woken may release others: they leave the list by themselves */
	while ((h = LIST_FIRST(&woken)) != NULL) {
		LIST_REMOVE(h, next);
		hold_wake(h, &j->want, j->stage == FAILED ? &j->why : NULL);
	}
	job_free(j);
	start_soon(a);
}

static void
on_found(struct job *j, const struct msg_artifact_found *found)
{
	struct err e = { 0 };

	j->bytes = found->bytes;
	j->entries = found->entries;
	if (cache_reserve(j->artifacts, j->shelf, j->bytes, j->entries, &e) == -1) {
		job_fail(j, &e);
		return;
	}
	j->reserved = true;
	j->stage = COPYING;
	if (link_send(child_link(j->child), MSG_ARTIFACT_GO, 0, 0, &(struct msg_artifact_go){}, &e) == -1)
		job_fail(j, &e);
}

static void
on_failed(struct job *j, const struct msg_artifact_failed *f)
{
	enum err_code code = err_from_wire(f->code, strlen(f->code));
	struct err    e;

	err_set(&e, code == E__COUNT || code == E_NONE ? E_CRASH : code, "%s", f->reason);
	job_fail(j, &e);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct job *j = arg;
	struct err  e;

	if (m->type == MSG_ARTIFACT_FOUND && j->stage == ASKED) {
		on_found(j, m->body);
	} else if (m->type == MSG_ARTIFACT_DONE && j->stage == COPYING) {
		j->stage = DONE;
	} else if (m->type == MSG_ARTIFACT_FAILED && j->stage != DONE) {
		on_failed(j, m->body);
	} else {
		err_set(&e, E_CRASH, "box-artifact sent an unexpected %s", msg_name(m->type));
		job_fail(j, &e);
	}
}

static void
on_gone(void *arg, int status)
{
	struct job *j = arg;
	struct err  e;

	child_close(&j->child);
	if (j->stage != DONE) {
		err_set(&e, E_CRASH, "box-artifact died (%s) while it copied an artifact", child_status(status).text);
		job_fail(j, &e);
	}
	job_end(j);
}

static void
on_copy_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct err e;

	err_set(&e, E_ARTIFACT, "copying it took longer than %.0f seconds", LIM_ARTIFACT_SEC);
	job_fail(t->data, &e);
}

static int
job_send(struct job *j, int staging, struct err *e)
{
	struct boxd              *h = j->artifacts->boxd;
	struct msg_path_rule      room[LIM_ALL_RULES];
	struct msg_worker_start   rules;
	struct msg_artifact_start start;
	char                      field[64], digest[LIM_DIGEST + 1];

	msg_defaults(MSG_WORKER_START, &rules);
	mountrules_fill(h->mountrules, room, &rules);
	tenantroots_add_rules(h->tenantroots, j->session, &rules);
	langbot_add_rules(h->langbot, j->session, &rules);
	snprintf(field, sizeof(field), "spec.extra_mounts.%zu", j->want.index);
	snprintf(digest, sizeof(digest), "sha256:%s", j->want.digits);
	msg_defaults(MSG_ARTIFACT_START, &start);
	start.field = field;
	start.source = j->want.source;
	start.manifest = j->want.manifest;
	start.digest = digest;
	start.staging = staging;
	start.rules.n = rules.rules.n;
	start.rules.v = rules.rules.v;
	return link_send(child_link(j->child), MSG_ARTIFACT_START, 0, 0, &start, e);
}

static int
job_start(struct job *j, struct err *e)
{
	static const struct child_ops ops = { on_msg, on_gone };

	if (j->want.source == NULL || j->want.manifest == NULL)
		return err_set(e, E_SYS, "no memory for an artifact");
	j->number = boxd_next_id(j->artifacts->boxd);
	AUTO_FD int staging = cache_stage(j->artifacts, j->number, e);
	if (staging == -1 ||
	    (j->child = child_start(j->artifacts->boxd, "box-artifact", FROM_ARTIFACT, &ops, j, e)) == NULL)
		return -1;
	j->stage = ASKED;
	ev_timer_start(j->artifacts->boxd->loop, &j->copy_timer);
	return job_send(j, staging, e);
}

/* The first that may: one copy of a workspace at a time, so that none waits for another's. */
static struct job *
first_startable(const struct artifacts *a)
{
	struct job *j;

	TAILQ_FOREACH (j, &a->waiting, next)
		if (!j->shelf->busy)
			return j;
	return NULL;
}

static void
on_start_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct artifacts *a = t->data;
	struct job       *j;
	struct err        e = { 0 };

	while (a->n_running < LIM_ARTIFACT_BUSY && (j = first_startable(a)) != NULL) {
		assert(a->n_waiting > 0 && j->shelf->waiting > 0 && j->stage == WAITING);
		TAILQ_REMOVE(&a->waiting, j, next);
		a->n_waiting--;
		j->shelf->waiting--;
		TAILQ_INSERT_TAIL(&a->running, j, next);
		a->n_running++;
		j->shelf->busy = true;
		if (job_start(j, &e) == 0)
			continue;
		job_fail(j, &e);
		if (j->child == NULL) /* else on_gone() ends it */
			job_end(j);
	}
}

static void
start_soon(struct artifacts *a)
{
	ev_timer_set(&a->start_timer, 0., 0.);
	ev_timer_start(a->boxd->loop, &a->start_timer);
}

/* ---- sweeping ---------------------------------------------------------------------------------------------- */

static void
on_sweeper_msg(void *arg, struct msg *m)
{
	if (m->type == MSG_ARTIFACT_FAILED)
		log_error("artifacts: sweep: %s", ((const struct msg_artifact_failed *)m->body)->reason);
}

static void
on_sweeper_gone(void *arg, int status)
{
	struct artifacts *a = arg;

	child_close(&a->sweeper);
	if (a->sweep_again)
		artifacts_sweep(a);
}

void
artifacts_sweep(struct artifacts *a)
{
	static const struct child_ops ops = { on_sweeper_msg, on_sweeper_gone };
	struct msg_artifact_sweep     m = { .trash = a->trash };
	struct err                    e = { 0 };

	a->sweep_again = a->sweeper != NULL;
	if (a->sweep_again)
		return;
	a->sweeper = child_start(a->boxd, "box-artifact", FROM_ARTIFACT, &ops, a, &e);
	if (a->sweeper == NULL || link_send(child_link(a->sweeper), MSG_ARTIFACT_SWEEP, 0, 0, &m, &e) == -1)
		log_warn("artifacts: sweep: %s", e.text); /* the next one removes it */
}

/* ---- open and close ------------------------------------------------------------------------------------------ */

struct artifacts *
artifacts_open(struct boxd *h, struct err *e)
{
	struct artifacts *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	*a = (struct artifacts){ .boxd = h, .dir = -1, .staging = -1, .trash = -1 };
	TAILQ_INIT(&a->by_use);
	TAILQ_INIT(&a->waiting);
	TAILQ_INIT(&a->running);
	ev_timer_init(&a->start_timer, on_start_timer, 0., 0.);
	a->start_timer.data = a;
	if (cache_open(a, e) == -1)
		artifacts_close(&a);
	return a;
}

static void
jobs_clear(struct jobs *in)
{
	struct job *j;

	while ((j = TAILQ_FIRST(in)) != NULL) {
		TAILQ_REMOVE(in, j, next);
		job_free(j);
	}
}

void
artifacts_close(struct artifacts **ap)
{
	struct artifacts *a = *ap;

	if (a == NULL)
		return;
	*ap = NULL;
	ev_timer_stop(a->boxd->loop, &a->start_timer);
	jobs_clear(&a->waiting);
	jobs_clear(&a->running);
	child_end(&a->sweeper);
	cache_close(a);
	free(a);
}
