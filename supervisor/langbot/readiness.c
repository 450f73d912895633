/*
 * Without grants readiness is cheap: is there a backend?  With grants a trial finds it out, one at a time for
 * everybody who asks meanwhile, and its result is good for a while.
 */
#include "langbot/readiness.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "core/machine.h"
#include "core/reply.h"
#include "langbot/admission.h"
#include "langbot/langbot.h"
#include "langbot/readiness_trial.h"

#define REQUIRED_BACKEND "nsjail"
#define UNSAFE "LANGBOT_BOX_ALLOW_UNSAFE_SOFT_STORAGE_LIMITS"

enum check {
#define CHECK(N, name) CHECK_##N,
#include "langbot/readiness.def"
#undef CHECK
	CHECK__COUNT
};

static const char *const check_names[] = {
#define CHECK(N, name) [CHECK_##N] = name,
#include "langbot/readiness.def"
#undef CHECK
};

/* Those that are about the backend; "available" stands before them. */
enum { DETAIL_FIRST = CHECK_CGROUP, DETAIL_LAST = CHECK_INODES, DETAILS = DETAIL_LAST - DETAIL_FIRST + 2 };

struct waiter {
	STAILQ_ENTRY(waiter) next;
	uint64_t conn, id;
};

STAILQ_HEAD(waiters, waiter);

struct readiness {
	struct boxd         *boxd;
	struct waiters       waiters; /* owned; for the trial's end */
	struct trial        *trial;   /* owned; NULL when none runs */
	bool                 unsafe;
	bool                 again; /* the configuration has changed under the trial */
	bool                 known;
	uint64_t             until_ms; /* what is known is good so long */
	struct msg_check     checks[CHECK__COUNT], details[DETAILS];
	char                 error[LIM_TEXT];
	struct msg_readiness told; /* borrows from the three above */
};

/* ---- the report ---- */

static void
add_error(struct readiness *r, const char *text)
{
	size_t used = strlen(r->error);

	if (*text != '\0')
		snprintf(r->error + used, sizeof(r->error) - used, "%s%.2000s", used > 0 ? "; " : "", text);
}

/* LangBot calls it cgroup_v2, after its own backend.  It means that limits are enforced, by v1 or v2. */
static bool
limits_hold(const struct machine *m)
{
	struct err e;

	return walls_require(&m->walls, WALL_MEMORY, &e) == 0 && walls_require(&m->walls, WALL_PIDS, &e) == 0 &&
	       walls_require(&m->walls, WALL_CPU, &e) == 0;
}

static bool
workspace_is_allowed(const struct msg_store_ready *paths)
{
	for (size_t i = 0; i < paths->allowed_mount_roots.n; i++)
		if (path_within(paths->default_workspace, paths->allowed_mount_roots.v[i]))
			return true;
	return false;
}

static bool
is_available(const struct boxd *h)
{
	return h->machine->barrier.code == E_NONE && *langbot_backend(h->langbot) != '\0';
}

/* The checks that need no trial. */
static void
judge_configuration(struct readiness *r, bool passed[CHECK__COUNT])
{
	const struct boxd            *h = r->boxd;
	const struct msg_box_policy  *p = admission_policy(h->admission);
	const struct msg_store_ready *paths = langbot_paths(h->langbot);

	passed[CHECK_CONFIGURATION] = *admission_config_error(h->admission) == '\0';
	passed[CHECK_REQUIRED_BACKEND] = strcmp(langbot_backend(h->langbot), REQUIRED_BACKEND) == 0;
	passed[CHECK_WORKSPACE_MOUNT] = *paths->default_workspace != '\0' && workspace_is_allowed(paths);
	passed[CHECK_BACKEND_AVAILABLE] = is_available(h);
	passed[CHECK_CGROUP] = limits_hold(h->machine);
	passed[CHECK_SESSION_CAP] = p->max_sessions <= 1;
	passed[CHECK_PROCESS_CAP] = p->max_managed_processes == 0;
	add_error(r, admission_config_error(h->admission));
	if (!passed[CHECK_REQUIRED_BACKEND])
		add_error(r, "required_backend: set box.backend to " REQUIRED_BACKEND);
	if (*paths->default_workspace == '\0')
		add_error(r, "Managed sandbox admission requires box.local.default_workspace");
	else if (!passed[CHECK_WORKSPACE_MOUNT])
		add_error(r, "Managed sandbox workspace is outside box.local.allowed_mount_roots");
	if (!passed[CHECK_BACKEND_AVAILABLE])
		add_error(r, h->machine->barrier.text);
	if (!passed[CHECK_CGROUP])
		add_error(r, "cgroup_v2: memory, pids or cpu are not limited here: see boxctl doctor");
}

static void
judge_trial(const struct findings *f, bool passed[CHECK__COUNT])
{
	passed[CHECK_WORKSPACE_MOUNT] &= f->workspace;
	passed[CHECK_NAMESPACES] = f->ran;
	passed[CHECK_MOUNTS] = f->mount;
	passed[CHECK_NETWORK] = f->network;
	passed[CHECK_WORKSPACE_BYTES] = f->bytes;
	passed[CHECK_READ_ONLY_MOUNTS] = passed[CHECK_SKILLS] = f->skills;
	passed[CHECK_EPHEMERAL] = f->ephemeral;
	passed[CHECK_INODES] = f->inodes;
}

/* The operator declares the storage bounded; the details keep what was found. */
static void
force_unsafe(const struct readiness *r, bool passed[CHECK__COUNT])
{
	if (!r->unsafe || !passed[CHECK_REQUIRED_BACKEND])
		return;
	passed[CHECK_WORKSPACE_BYTES] = passed[CHECK_EPHEMERAL] = passed[CHECK_INODES] = true;
	passed[CHECK_READ_ONLY_MOUNTS] = passed[CHECK_SKILLS] = true;
}

static void
tell(struct readiness *r, bool passed[CHECK__COUNT])
{
	bool ready = true;

	r->details[0] = (struct msg_check){ "available", passed[CHECK_BACKEND_AVAILABLE] };
	for (int c = DETAIL_FIRST; c <= DETAIL_LAST; c++)
		r->details[c - DETAIL_FIRST + 1] = (struct msg_check){ check_names[c], passed[c] };
	force_unsafe(r, passed);
	for (int c = 0; c < CHECK__COUNT; c++) {
		r->checks[c] = (struct msg_check){ check_names[c], passed[c] };
		ready &= passed[c];
	}
	r->told = (struct msg_readiness){
		.ready = ready,
		.enforced = true,
		.backend = langbot_backend(r->boxd->langbot),
		.available = passed[CHECK_BACKEND_AVAILABLE],
		.checks = { CHECK__COUNT, r->checks },
		.details = { DETAILS, r->details },
		.unsafe_soft_storage_limits = r->unsafe,
		.error = ready ? "" : r->error,
	};
	r->known = true;
	r->until_ms = span_ms() + admission_policy(r->boxd->admission)->readiness_cache_sec * 1000;
	log_info("readiness ready=%d%s%s", ready, ready ? "" : ": ", r->told.error);
}

/* Requests that arrive while these are answered wait for the next trial, or get this result from the cache. */
static void
answer_all(struct readiness *r)
{
	struct waiters now = STAILQ_HEAD_INITIALIZER(now);
	struct waiter *w;

	STAILQ_CONCAT(&now, &r->waiters);
	while ((w = STAILQ_FIRST(&now)) != NULL) {
		STAILQ_REMOVE_HEAD(&now, next);
		reply_send(r->boxd, MSG_READINESS, w->conn, w->id, &r->told);
		free(w);
	}
}

/* ---- measuring ---- */

static void measure(struct readiness *);

static void
on_trial(void *arg, const struct findings *f)
{
	struct readiness *r = arg;
	bool              passed[CHECK__COUNT] = { false };

	*r->error = '\0';
	judge_configuration(r, passed);
	judge_trial(f, passed);
	add_error(r, f->why);
	trial_close(&r->trial);
	if (r->again) {
		measure(r);
		return;
	}
	tell(r, passed);
	answer_all(r);
}

static void
measure(struct readiness *r)
{
	const struct boxd *h = r->boxd;
	struct findings    none = { .workspace = true }; /* not tried: what is known of it counts */
	struct err         e = { .text = "" };

	assert(r->trial == NULL); /* one at a time */
	r->again = false;
	if (is_available(h) && *langbot_paths(h->langbot)->default_workspace != '\0')
		r->trial = trial_open(r->boxd, on_trial, r, &e);
	if (r->trial != NULL) {
		trial_run(r->trial);
		return;
	}
	snprintf(none.why, sizeof(none.why), "%s", e.text);
	on_trial(r, &none);
}

/* Is there a backend?  That is all that counts without grants. */
static void
answer_plainly(struct boxd *h, uint64_t conn, uint64_t id)
{
	bool                 available = is_available(h);
	struct msg_check     check = { .name = check_names[CHECK_BACKEND_AVAILABLE], .passed = available };
	struct msg_readiness told = {
		.ready = available,
		.backend = langbot_backend(h->langbot),
		.available = available,
		.checks = { 1, &check },
		.error = available ? "" : h->machine->barrier.text,
	};

	reply_send(h, MSG_READINESS, conn, id, &told);
}

void
readiness_ask(struct boxd *h, uint64_t conn, uint64_t id)
{
	struct readiness *r = h->readiness;

	if (!admission_enforced(h->admission)) {
		answer_plainly(h, conn, id);
		return;
	}
	if (r->known && span_ms() < r->until_ms) {
		reply_send(h, MSG_READINESS, conn, id, &r->told);
		return;
	}
	struct waiter *w = malloc(sizeof(*w));
	struct err     e;
	if (w == NULL) {
		err_set(&e, E_SYS, "no memory for a question about readiness");
		reply_fail(h, conn, id, &e);
		return;
	}
	*w = (struct waiter){ .conn = conn, .id = id };
	STAILQ_INSERT_TAIL(&r->waiters, w, next);
	if (r->trial == NULL)
		measure(r);
}

void
readiness_forget(struct boxd *h)
{
	h->readiness->known = false;
	h->readiness->again = h->readiness->trial != NULL;
}

/* One check has two names; the text has the new one. */
int
readiness_refusal(const struct msg_readiness *r, struct err *e)
{
	char   failed[ERR_TEXT - 128] = "";
	size_t n = 0;

	if (r->ready)
		return 0;
	for (size_t i = 0; i < r->checks.n && n < sizeof(failed); i++)
		if (!r->checks.v[i].passed && strcmp(r->checks.v[i].name, check_names[CHECK_SKILLS]) != 0)
			n += (size_t)snprintf(
			    failed + n, sizeof(failed) - n, "%s%s", n > 0 ? ", " : "", r->checks.v[i].name);
	return err_set(e, E_READINESS, "Managed sandbox isolation is not ready (failed checks: %s)",
	    *failed != '\0' ? failed : "unknown");
}

/* ---- open and close ---- */

/* As LangBot's runtime reads it: blanks around it do not count. */
static bool
is_yes(const char *value)
{
	static const char *const words[] = { "1", "true", "yes", "on" };

	value += strspn(value, " \t\r\n");
	size_t n = strcspn(value, " \t\r\n");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == n && strncasecmp(words[i], value, n) == 0)
			return value[n + strspn(value + n, " \t\r\n")] == '\0';
	return false;
}

struct readiness *
readiness_open(struct boxd *h, struct err *e)
{
	const char       *unsafe = getenv(UNSAFE);
	struct readiness *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	r->boxd = h;
	r->unsafe = h->config->unsafe_soft_storage_limits || (unsafe != NULL && is_yes(unsafe));
	STAILQ_INIT(&r->waiters);
	if (r->unsafe)
		log_warn(
		    "readiness: storage is called bounded though nobody looks; for machines that may be thrown away");
	return r;
}

void
readiness_close(struct readiness **rp)
{
	struct readiness *r = *rp;
	struct waiter    *w;

	*rp = NULL;
	if (r == NULL)
		return;
	trial_close(&r->trial);
	while ((w = STAILQ_FIRST(&r->waiters)) != NULL) {
		STAILQ_REMOVE_HEAD(&r->waiters, next);
		free(w);
	}
	free(r);
}
