/*
 * The policy, and what follows when a grant comes, goes or expires.  The decisions are in admission_book.c.
 */
#include "langbot/admission.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "children/pool.h"
#include "core/dirs.h"
#include "core/journal.h"
#include "core/reply.h"
#include "auth/auth.h"
#include "langbot/admission_book.h"
#include "langbot/admission_spec.h"
#include "langbot/langbot.h"
#include "langbot/tenancy.h"

/* A client that waits for its workspace's volume, and for sessions to be gone. */
struct waiting {
	LIST_ENTRY(waiting) next;
	struct admission    *admission;
	uint64_t             conn, id;
	struct msg_box_grant grant; /* the receipt; its strings are the next two */
	char                *instance, *workspace;
	bool                 revoked; /* it is a revocation that is waited for */
	struct err           failed;  /* E_NONE, or what to answer after all */
};

struct admission {
	struct boxd          *boxd;
	struct book          *book;    /* owned */
	struct journal       *journal; /* owned; the book's records, each before it counts */
	struct msg_box_policy policy;
	bool                  enforced;
	char                  config_error[LIM_TEXT + 1];
	uint64_t              next_us; /* when the next grant expires */
	ev_periodic           expiry;  /* runs while there is a grant; by the wall clock, as grants are */
	LIST_HEAD(, waiting) waiting;  /* owned */
};

static uint64_t
now_us(void)
{
	return clock_us(CLOCK_REALTIME);
}

/* ---- expiry ---- */

static void
gone(void *arg, const struct msg *reply)
{
	if (reply->failed)
		log_error("sessions of an expired grant: %s", reply->error.text);
}

static void
arm(struct admission *a)
{
	a->next_us = book_next_expiry(a->book);
	ev_periodic_stop(a->boxd->loop, &a->expiry);
	if (a->next_us == UINT64_MAX)
		return;
	/* a millisecond later: then it has expired by any clock of ours */
	ev_periodic_set(&a->expiry, (double)a->next_us / 1e6 + 1e-3, 0., NULL);
	ev_periodic_start(a->boxd->loop, &a->expiry);
}

static void
reap(struct admission *a)
{
	struct msg_context whose;
	uint64_t           now = now_us();

	if (now < a->next_us)
		return;
	while (book_expire(a->book, now, &whose)) {
		log_info("admission workspace=%s generation=%lu: the grant has expired",
		    log_escape(whose.workspace, strlen(whose.workspace)), whose.generation);
		langbot_drop_sessions(a->boxd->langbot, &whose, NULL, gone, NULL);
	}
	arm(a);
	assert(a->next_us > now); /* no grant that has expired is left */
}

static void
on_expiry(struct ev_loop *loop, ev_periodic *w, int revents)
{
	reap(w->data);
}

/* ---- what a restart must not forget ---- */

static int
on_record(void *arg, const struct msg *m, struct err *e)
{
	struct admission *a = arg;

	if (m->type != MSG_ADMISSION_RECORD)
		return err_set(e, E_PROTO, "%s does not belong there", msg_name(m->type));
	return book_remember(a->book, m->body, e);
}

struct writing {
	struct journal *journal;
	struct err     *e;
};

static int
write_one(void *arg, const struct msg_admission_record *r)
{
	struct writing *w = arg;

	return journal_append(w->journal, MSG_ADMISSION_RECORD, r, w->e);
}

static int
write_all(void *arg, struct journal *j, struct err *e)
{
	struct admission *a = arg;

	return book_each(a->book, write_one, &(struct writing){ j, e });
}

static int
write_down(struct admission *a, const struct msg_admission_record *r, struct err *e)
{
	struct err why;

	if (journal_append(a->journal, MSG_ADMISSION_RECORD, r, e) == -1)
		return -1;
	if (journal_is_long(a->journal, book_records(a->book)) && journal_compact(a->journal, write_all, a, &why) == -1)
		log_warn("%s", why.text);
	return 0;
}

/* ---- open and close ---- */

struct admission *
admission_open(struct boxd *h, struct err *e)
{
	struct admission *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	a->boxd = h;
	a->next_us = UINT64_MAX;
	msg_defaults(MSG_BOX_POLICY, &a->policy);
	ev_periodic_init(&a->expiry, on_expiry, 0., 0., NULL);
	a->expiry.data = a;
	if ((a->book = book_open(e)) == NULL ||
	    (a->journal = journal_open(h->dirs->state, "admission", on_record, a, e)) == NULL)
		admission_close(&a);
	return a;
}

static void
waiting_free(struct waiting *w)
{
	LIST_REMOVE(w, next);
	free(w->instance);
	free(w->workspace);
	free(w);
}

void
admission_close(struct admission **ap)
{
	struct admission *a = *ap;

	*ap = NULL;
	if (a == NULL)
		return;
	ev_periodic_stop(a->boxd->loop, &a->expiry);
	while (!LIST_EMPTY(&a->waiting))
		waiting_free(LIST_FIRST(&a->waiting));
	journal_close(&a->journal);
	book_close(&a->book);
	free(a);
}

/* ---- the policy ---- */

static void
set_error(struct admission *a, const char *text)
{
	snprintf(a->config_error, sizeof(a->config_error), "%s", text);
	if (*text != '\0')
		log_warn("admission: %s", log_escape(text, strlen(text)));
}

/* A malformed section may have been meant to require admission. */
void
admission_configure(struct admission *a, const struct msg_box_init *init)
{
	if (*init->admission_error != '\0') {
		msg_defaults(MSG_BOX_POLICY, &a->policy);
		a->policy.required = true;
		a->enforced = true;
		set_error(a, init->admission_error);
	} else if (!init->has_admission) {
		return; /* the section that counted still does */
	} else if (init->admission.required) {
		a->policy = init->admission;
		a->enforced = true;
		set_error(a, "");
	} else if (a->enforced) {
		set_error(a, "Sandbox admission enforcement cannot be disabled without restarting the Box Runtime");
	} else {
		a->policy = init->admission;
	}
}

bool
admission_enforced(const struct admission *a)
{
	return a->enforced;
}

const char *
admission_config_error(const struct admission *a)
{
	return a->config_error;
}

const struct msg_box_policy *
admission_policy(const struct admission *a)
{
	return &a->policy;
}

/* ---- use ---- */

static const struct grant *
check(struct admission *a, const struct msg_context *c, struct err *e)
{
	reap(a);
	const struct grant *g = book_grant(a->book, c, now_us());

	if (g == NULL)
		err_set(e, E_ADMISSION, "Sandbox admission grant is missing");
	else if (g->generation != c->generation)
		err_set(e, E_ADMISSION, "Sandbox admission grant belongs to another execution generation");
	else if (g->max_sessions == 0)
		err_set(e, E_ADMISSION, "Sandbox admission grant does not permit sessions");
	else if (g->max_sessions > a->policy.max_sessions || g->max_managed_processes > a->policy.max_managed_processes)
		err_set(e, E_ADMISSION, "Sandbox admission grant exceeds the active runtime policy");
	else
		return g;
	return NULL;
}

int
admission_check(struct admission *a, const struct msg_context *c, struct err *e)
{
	return !a->enforced || check(a, c, e) != NULL ? 0 : -1;
}

uint64_t
admission_max_sessions(struct admission *a, const struct msg_context *c)
{
	struct err          ignored;
	const struct grant *g = a->enforced ? check(a, c, &ignored) : NULL;

	if (!a->enforced)
		return UINT64_MAX;
	return g != NULL ? g->max_sessions : 0;
}

int
admission_check_session(struct admission *a, const struct msg_context *c, size_t have, bool is_new, struct err *e)
{
	if (!a->enforced)
		return 0;
	const struct grant *g = check(a, c, e);
	if (g == NULL)
		return -1;
	if (have > g->max_sessions)
		return err_set(e, E_ADMISSION, "Sandbox admission session limit exceeded");
	if (is_new && have >= g->max_sessions)
		return err_set(e, E_ADMISSION, "Sandbox admission session limit reached");
	return 0;
}

int
admission_check_process(struct admission *a, const struct msg_context *c, size_t have, struct err *e)
{
	if (!a->enforced)
		return 0;
	const struct grant *g = check(a, c, e);
	if (g == NULL)
		return -1;
	if (g->max_managed_processes == 0)
		return err_set(e, E_ADMISSION, "Sandbox admission grant does not permit managed processes");
	if (have >= g->max_managed_processes)
		return err_set(e, E_ADMISSION, "Sandbox admission managed-process limit reached");
	return 0;
}

int
admission_normalise(struct admission *a, const struct msg_context *c, struct msg_box_spec *s,
    const struct admitted *found, struct err *e)
{
	if (!a->enforced)
		return 0;
	return admission_check(a, c, e) == -1 ? -1 : admission_force(&a->policy, s, found, e);
}

/* ---- answers that wait ---- */

/* Copies the strings, because the message is gone when the answer is due. */
static struct waiting *
wait_for(struct admission *a, const struct msg *m, const struct msg_box_grant *grant, struct err *e)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		err_set(e, E_SYS, "no memory for a grant");
		return NULL;
	}
	*w = (struct waiting){ .admission = a, .conn = m->conn, .id = m->id, .grant = *grant };
	w->grant.instance = w->instance = strdup(grant->instance);
	w->grant.workspace = w->workspace = strdup(grant->workspace);
	LIST_INSERT_HEAD(&a->waiting, w, next);
	if (w->instance != NULL && w->workspace != NULL)
		return w;
	waiting_free(w);
	err_set(e, E_SYS, "no memory for a grant");
	return NULL;
}

static void
on_dropped(void *arg, const struct msg *reply)
{
	struct waiting *w = arg;
	struct boxd    *h = w->admission->boxd;

	if (reply != NULL && reply->failed)
		w->failed = reply->error;
	if (w->failed.code != E_NONE)
		reply_fail(h, w->conn, w->id, &w->failed);
	else if (w->revoked)
		reply_send(h, MSG_DONE, w->conn, w->id, &(struct msg_done){});
	else
		reply_send(h, MSG_BOX_GRANT, w->conn, w->id, &w->grant);
	waiting_free(w);
}

/* ---- grants ---- */

/* What both check before they ask the book. */
static int
welcome(struct admission *a, const char *instance, const char *what, struct err *e)
{
	const char *trusted = auth_instance(a->boxd->auth);

	if (*trusted != '\0' && strcmp(trusted, instance) != 0)
		return err_set(e, E_DENIED, "Sandbox admission %s does not match the trusted instance", what);
	if (!a->enforced)
		return err_set(e, E_ADMISSION, "Sandbox admission enforcement is not enabled");
	return 0;
}

static int
judge(struct admission *a, const struct msg_box_grant *g, uint64_t now, struct msg_admission_record *record,
    bool *changed, struct err *e)
{
	if (*a->config_error != '\0')
		return err_set(e, E_READINESS, "Invalid sandbox admission configuration: %.900s", a->config_error);
	return book_judge(
	    a->book, &a->policy, langbot_limits(a->boxd->langbot)->max_admission_records, g, now, record, changed, e);
}

/* In this order: the fence, because an old placement gets no grant; the journal; the book. */
static int
install(struct admission *a, const struct msg_box_grant *g, enum grant_effect *effect, struct err *e)
{
	struct msg_context          c = { g->instance, g->workspace, g->generation };
	struct msg_admission_record record;
	bool                        changed = false;
	uint64_t                    now = now_us();

	if (judge(a, g, now, &record, &changed, e) == -1 || tenancy_observe(a->boxd->tenancy, &c, e) == -1 ||
	    (changed && write_down(a, &record, e) == -1) || book_install(a->book, g, now, effect, e) == -1)
		return -1;
	arm(a);
	return 0;
}

/* The receipt shows the grant in force, which may be an older one that lives longer. */
static void
fill_receipt(struct waiting *w)
{
	struct msg_context  c = { w->instance, w->workspace, w->grant.generation };
	const struct grant *g = book_grant(w->admission->book, &c, now_us());

	if (g != NULL)
		w->grant.expires_us = g->expires_us;
}

/* Ends the sessions of the workspace that the new grant does not cover. */
static void
drop_sessions(struct waiting *w, enum grant_effect effect)
{
	struct msg_context c = { w->instance, w->workspace, w->grant.generation };
	char               canonical[LIM_NAME + 1];
	struct err         ignored;

	if (effect == GRANT_KEPT)
		on_dropped(w, NULL);
	else if (effect == GRANT_RENEWED && tenancy_physical(&c, ADMISSION_SESSION, canonical, &ignored) == 0)
		langbot_drop_sessions(w->admission->boxd->langbot, &c, canonical, on_dropped, w);
	else
		langbot_drop_sessions(w->admission->boxd->langbot, &c, NULL, on_dropped, w);
}

/* Not before: no session may work in a directory that its volume does not bound yet. */
static void
on_volume(void *arg, const struct msg *reply)
{
	struct waiting   *w = arg;
	enum grant_effect effect = GRANT_REPLACED;

	if (reply->failed)
		w->failed = reply->error;
	if (reply->failed || install(w->admission, &w->grant, &effect, &w->failed) == -1) {
		on_dropped(w, NULL);
		return;
	}
	fill_receipt(w);
	drop_sessions(w, effect);
}

int
admission_upsert(struct boxd *h, const struct msg *m, struct err *e)
{
	struct admission           *a = h->admission;
	const struct msg_box_grant *g = &((const struct msg_box_upsert_grant *)m->body)->grant;
	struct msg_context          c = { g->instance, g->workspace, g->generation };
	struct msg_admission_record record;
	bool                        changed;
	char                        ns[NAMESPACE_LEN + 1];

	if (welcome(a, g->instance, "grant", e) == -1)
		return -1;
	reap(a);
	if (judge(a, g, now_us(), &record, &changed, e) == -1)
		return -1;
	struct waiting *w = wait_for(a, m, g, e);
	if (w == NULL)
		return -1;
	tenancy_namespace(&c, ns);
	pool_workspace(h, ns, on_volume, w);
	return 0;
}

/* It takes effect at once.  If it cannot be written down the reply is an error, so that the client asks again. */
int
admission_revoke(struct boxd *h, const struct msg *m, struct err *e)
{
	struct admission                  *a = h->admission;
	const struct msg_box_revoke_grant *v = m->body;
	struct msg_box_grant               none = { .instance = v->instance, .workspace = v->workspace };
	struct msg_context                 c = { v->instance, v->workspace, 0 };
	struct msg_admission_record        record;

	if (welcome(a, v->instance, "revocation", e) == -1 ||
	    book_judge_revocation(a->book, langbot_limits(h->langbot)->max_admission_records, v, &record, e) == -1 ||
	    book_revoke(a->book, v, e) == -1)
		return -1;
	arm(a);
	struct waiting *w = wait_for(a, m, &none, e);
	if (w == NULL)
		return -1;
	w->revoked = true;
	if (write_down(a, &record, &w->failed) == 0)
		w->failed.code = E_NONE;
	langbot_drop_sessions(h->langbot, &c, NULL, on_dropped, w);
	return 0;
}
