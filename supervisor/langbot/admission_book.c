#include "langbot/admission_book.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct record {
	char                       *instance, *workspace; /* owned */
	struct msg_admission_record seen;                 /* borrows those two */
	struct grant                grant;
	bool                        granted;
};

struct book {
	void  *root; /* owned; a tree of struct record, by instance and workspace */
	size_t records;

	/* the records that have a grant, in no order: there are as many as workspaces in use */
	struct record **granted; /* owned; the records are the tree's */
	size_t          n, room;
};

static int
compare(const void *a, const void *b)
{
	const struct msg_admission_record *x = &((const struct record *)a)->seen,
					  *y = &((const struct record *)b)->seen;
	int r = strcmp(x->workspace, y->workspace);

	return r != 0 ? r : strcmp(x->instance, y->instance);
}

static struct record *
find(const struct book *b, const char *instance, const char *workspace)
{
	struct record         key = { .seen = { .instance = instance, .workspace = workspace } };
	struct record *const *at = tfind(&key, &b->root, compare);

	return at == NULL ? NULL : *at;
}

static void
record_free(void *arg)
{
	struct record *r = arg;

	free(r->instance);
	free(r->workspace);
	free(r);
}

struct book *
book_open(struct err *e)
{
	struct book *b = calloc(1, sizeof(*b));

	if (b == NULL)
		err_set(e, E_SYS, "no memory");
	return b;
}

void
book_close(struct book **bp)
{
	struct book *b = *bp;

	*bp = NULL;
	if (b == NULL)
		return;
	tdestroy(b->root, record_free);
	free(b->granted);
	free(b);
}

size_t
book_records(const struct book *b)
{
	return b->records;
}

/* The record, made if it is missing; NULL: no memory. */
static struct record *
record_of(struct book *b, const char *instance, const char *workspace, struct err *e)
{
	struct record *r = find(b, instance, workspace);

	if (r != NULL)
		return r;
	if ((r = calloc(1, sizeof(*r))) != NULL) {
		r->seen.instance = r->instance = strdup(instance);
		r->seen.workspace = r->workspace = strdup(workspace);
	}
	if (r == NULL || r->instance == NULL || r->workspace == NULL || tsearch(r, &b->root, compare) == NULL) {
		if (r != NULL)
			record_free(r);
		err_set(e, E_SYS, "no memory for a record of admission");
		return NULL;
	}
	b->records++;
	return r;
}

static void
record_set(struct record *r, const struct msg_admission_record *seen)
{
	r->seen = *seen;
	r->seen.instance = r->instance;
	r->seen.workspace = r->workspace;
}

int
book_remember(struct book *b, const struct msg_admission_record *seen, struct err *e)
{
	struct record *r = record_of(b, seen->instance, seen->workspace, e);

	if (r == NULL)
		return -1;
	record_set(r, seen);
	return 0;
}

struct each {
	int (*fn)(void *, const struct msg_admission_record *);
	void *arg;
	int   result;
};

static void
each_one(const void *node, VISIT which, void *closure)
{
	const struct record *r = *(struct record *const *)node;
	struct each         *each = closure;

	if ((which == postorder || which == leaf) && each->result == 0)
		each->result = each->fn(each->arg, &r->seen);
}

int
book_each(const struct book *b, int (*fn)(void *, const struct msg_admission_record *), void *arg)
{
	struct each each = { fn, arg, 0 };

	twalk_r(b->root, each_one, &each);
	return each.result;
}

/* ---- grants ---- */

static int
judge_time_and_policy(const struct msg_box_policy *p, const struct msg_box_grant *g, uint64_t now_us, struct err *e)
{
	if (g->expires_us <= now_us)
		return err_set(e, E_ADMISSION, "Cannot install an expired sandbox admission grant");
	if (g->expires_us - now_us > p->max_grant_ttl_sec * 1000000)
		return err_set(e, E_ADMISSION, "Sandbox admission grant lifetime exceeds the configured maximum");
	if (g->max_sessions > p->max_sessions)
		return err_set(e, E_ADMISSION, "Sandbox admission grant exceeds the session cap");
	if (g->max_managed_processes > p->max_managed_processes)
		return err_set(e, E_ADMISSION, "Sandbox admission grant exceeds the managed-process cap");
	return 0;
}

static int
judge_room(const struct book *b, uint64_t most_records, struct err *e)
{
	if (b->records < most_records)
		return 0;
	return err_set(e, E_ADMISSION,
	    "Sandbox admission record capacity reached; refusing an unbounded Workspace fence allocation");
}

static int
judge_fences(const struct msg_admission_record *seen, const struct msg_box_grant *g, struct err *e)
{
	if (g->revision <= seen->revoked)
		return err_set(e, E_ADMISSION, "Sandbox admission grant revision was revoked");
	if (g->revision < seen->revision)
		return err_set(e, E_ADMISSION, "Sandbox admission grant revision is stale");
	if (g->generation < seen->generation)
		return err_set(e, E_ADMISSION, "Sandbox admission execution generation is stale");
	if (g->revision == seen->revision &&
	    (g->max_sessions != seen->max_sessions || g->max_managed_processes != seen->max_managed_processes))
		return err_set(e, E_ADMISSION, "Sandbox admission limits changed without a new entitlement revision");
	return 0;
}

static struct msg_admission_record
record_with(const struct record *r, const struct msg_box_grant *g)
{
	return (struct msg_admission_record){
		.instance = g->instance,
		.workspace = g->workspace,
		.generation = g->generation,
		.revision = g->revision,
		.revoked = r == NULL ? 0 : r->seen.revoked,
		.max_sessions = g->max_sessions,
		.max_managed_processes = g->max_managed_processes,
	};
}

int
book_judge(const struct book *b, const struct msg_box_policy *p, uint64_t most_records, const struct msg_box_grant *g,
    uint64_t now_us, struct msg_admission_record *record, bool *changed, struct err *e)
{
	const struct record *r = find(b, g->instance, g->workspace);

	if (judge_time_and_policy(p, g, now_us, e) == -1 || (r == NULL && judge_room(b, most_records, e) == -1) ||
	    (r != NULL && judge_fences(&r->seen, g, e) == -1))
		return -1;
	*record = record_with(r, g);
	*changed = r == NULL || r->seen.revision != g->revision || r->seen.generation != g->generation;
	return 0;
}

static void
forget_grant(struct book *b, struct record *r)
{
	for (size_t i = 0; i < b->n && r->granted; i++)
		if (b->granted[i] == r) {
			b->granted[i] = b->granted[--b->n];
			r->granted = false;
		}
	assert(!r->granted); /* every record with a grant is in that list */
}

static int
add_grant(struct book *b, struct record *r, struct err *e)
{
	if (r->granted)
		return 0;
	assert(b->n <= b->room);
	if (b->n == b->room) {
		size_t          room = b->room == 0 ? 16 : b->room * 2;
		struct record **more = reallocarray(b->granted, room, sizeof(struct record *));

		if (more == NULL)
			return err_set(e, E_SYS, "no memory for a grant");
		b->granted = more;
		b->room = room;
	}
	b->granted[b->n++] = r;
	r->granted = true;
	return 0;
}

int
book_install(struct book *b, const struct msg_box_grant *g, uint64_t now_us, enum grant_effect *effect, struct err *e)
{
	struct record *r = record_of(b, g->instance, g->workspace, e);

	if (r == NULL)
		return -1;
	assert(g->revision > r->seen.revoked && g->revision >= r->seen.revision && g->generation >= r->seen.generation);
	bool active = r->granted && r->grant.expires_us > now_us;
	if (active && r->grant.revision == g->revision && r->grant.generation == g->generation &&
	    g->expires_us < r->grant.expires_us) {
		*effect = GRANT_KEPT;
		return 0;
	}
	if (add_grant(b, r, e) == -1)
		return -1;
	*effect = active && r->grant.generation == g->generation && g->max_sessions > 0 ? GRANT_RENEWED
											: GRANT_REPLACED;
	struct msg_admission_record seen = record_with(r, g);
	record_set(r, &seen);
	r->grant = (struct grant){
		.generation = g->generation,
		.revision = g->revision,
		.max_sessions = g->max_sessions,
		.max_managed_processes = g->max_managed_processes,
		.expires_us = g->expires_us,
	};
	return 0;
}

/* ---- revocations ---- */

int
book_judge_revocation(const struct book *b, uint64_t most_records, const struct msg_box_revoke_grant *v,
    struct msg_admission_record *record, struct err *e)
{
	const struct record *r = find(b, v->instance, v->workspace);

	if (r == NULL && judge_room(b, most_records, e) == -1)
		return -1;
	if (r != NULL && (v->revision < r->seen.revision || v->revision < r->seen.revoked))
		return err_set(e, E_ADMISSION, "Sandbox admission revocation is stale");
	*record = r == NULL ? (struct msg_admission_record){ 0 } : r->seen;
	record->instance = v->instance;
	record->workspace = v->workspace;
	record->revision = record->revoked = v->revision;
	return 0;
}

int
book_revoke(struct book *b, const struct msg_box_revoke_grant *v, struct err *e)
{
	struct record *r = record_of(b, v->instance, v->workspace, e);

	if (r == NULL)
		return -1;
	assert(v->revision >= r->seen.revision); /* book_judge_revocation has seen to it */
	forget_grant(b, r);
	r->seen.revision = r->seen.revoked = v->revision;
	return 0;
}

/* ---- use and expiry ---- */

const struct grant *
book_grant(const struct book *b, const struct msg_context *c, uint64_t now_us)
{
	const struct record *r = find(b, c->instance, c->workspace);

	return r != NULL && r->granted && r->grant.expires_us > now_us ? &r->grant : NULL;
}

uint64_t
book_next_expiry(const struct book *b)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < b->n; i++)
		if (b->granted[i]->grant.expires_us < next)
			next = b->granted[i]->grant.expires_us;
	return next;
}

bool
book_expire(struct book *b, uint64_t now_us, struct msg_context *whose)
{
	for (size_t i = 0; i < b->n; i++) {
		struct record *r = b->granted[i];

		if (r->grant.expires_us > now_us)
			continue;
		*whose = (struct msg_context){ r->instance, r->workspace, r->grant.generation };
		forget_grant(b, r);
		return true;
	}
	return false;
}
