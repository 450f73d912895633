#include "core/registry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/machine.h"
#include "core/notify.h"
#include "core/request.h"
#include "core/share.h"
#include "core/spare.h"
#include "langbot/tenancy.h"

enum { UIDS = 65536, BUCKETS = 8192 }; /* BUCKETS: more than there may be sessions; 64 KiB */

LIST_HEAD(bucket, registry_entry);

struct registry {
	struct boxd *boxd;
	TAILQ_HEAD(, registry_entry) by_age;    /* owned */
	struct bucket         by_name[BUCKETS]; /* the same, by a hash of their name */
	struct hash_key       key;
	struct groups        *groups;   /* owned */
	struct request_index *requests; /* owned */
	bool                 *slots;    /* owned; uid ranges in use */
	size_t                nslots;
	void (*on_empty)(void *); /* set while draining */
	void *on_empty_arg;
};

static struct bucket *
bucket_of(const struct registry *r, const char *name)
{
	return (struct bucket *)&r->by_name[hash_of(&r->key, name, strlen(name)) % BUCKETS];
}

struct registry *
registry_open(struct boxd *h, struct err *e)
{
	struct registry *r = calloc(1, sizeof(*r));

	if (r == NULL || (r->slots = calloc(h->config->max_sessions * 2, sizeof(bool))) == NULL) {
		err_set(e, E_SYS, "no memory for the registry");
		free(r);
		return NULL;
	}
	r->boxd = h;
	r->nslots = h->config->max_sessions *
		    2; /* spares need some too, and so do adopted sessions beyond a lowered maximum */
	TAILQ_INIT(&r->by_age);
	hash_key_make(&r->key);
	if ((r->groups = groups_open(e)) == NULL || (r->requests = request_index_open(e)) == NULL)
		registry_close(&r);
	return r;
}

struct session *
registry_find(const struct registry *r, const char *name)
{
	const struct registry_entry *en;

	LIST_FOREACH (en, bucket_of(r, name), same_hash)
		if (strcmp(session_name(en->session), name) == 0)
			return en->session;
	return NULL;
}

static size_t
slot_of(const struct registry *r, uint32_t uid_base)
{
	return (uid_base - (uint32_t)r->boxd->config->uid_base) / UIDS;
}

int
registry_room(struct registry *r, const char *name, struct err *e)
{
	const struct config *c = r->boxd->config;
	char                 ns[NAMESPACE_LEN + 1];

	if (registry_count(r) >= c->max_sessions)
		return err_set(e, E_CAPACITY, "session capacity reached (max_sessions = %lu)", c->max_sessions);
	if (!tenancy_namespace_of(name, ns))
		return 0;
	uint64_t kin = registry_sum(r, (struct group_key){ ns, NAMESPACE_LEN }).n[SESSIONS];
	return share_check(c, kin, c->max_sessions, E_CAPACITY, "session capacity reached", e);
}

int
registry_uids(struct registry *r, uint32_t *uid_base, struct err *e)
{
	if (!r->boxd->machine->root) {
		*uid_base = geteuid();
		return 0;
	}
	bool *slot = memchr(r->slots, false, r->nslots * sizeof(*r->slots));
	if (slot == NULL)
		return err_set(e, E_CAPACITY, "all ranges of uids are in use");
	*slot = true;
	*uid_base = (uint32_t)(r->boxd->config->uid_base + (size_t)(slot - r->slots) * UIDS);
	return 0;
}

void
registry_claim(struct registry *r, uint32_t uid_base)
{
	if (r->boxd->machine->root && slot_of(r, uid_base) < r->nslots)
		r->slots[slot_of(r, uid_base)] = true;
}

void
registry_release(struct registry *r, uint32_t uid_base)
{
	if (r->boxd->machine->root && slot_of(r, uid_base) < r->nslots)
		r->slots[slot_of(r, uid_base)] = false;
}

static void
tell_status(const struct registry *r)
{
	notify("STATUS=%zu of %lu sessions", registry_count(r), r->boxd->config->max_sessions);
}

/* ---- who is there, and how many ----------------------------------------------------------- */

static const struct group_key all_spares = { SPARE_PREFIX, sizeof(SPARE_PREFIX) - 1 };

static int
hold_groups(struct registry *r, struct group_entry *en, struct session *s, const char *name)
{
	struct group_key keys[GROUPS_MOST] = { session_was_spare(name) ? all_spares : GROUP_ALL };
	size_t           n = 1 + tenancy_groups(name, keys + 1);

	return group_hold(r->groups, en, s, keys, n);
}

int
registry_reserve(struct registry *r, struct session *s, struct err *e)
{
	struct registry_entry *en = session_entry(s);

	assert(en->session == NULL); /* a session is reserved for once */
	en->session = s;
	return hold_groups(r, &en->groups, s, session_name(s)) == 0 ? 0 : err_set(e, E_SYS, "no memory for a session");
}

void
registry_unreserve(struct session *s)
{
	group_leave(&session_entry(s)->groups);
}

/* The sums of all groups match their sessions: every change called session_recount().  Too slow except in tests. */
static void
check_sums(struct registry *r)
{
#ifdef __SANITIZE_ADDRESS__
	struct registry_entry *en;

	TAILQ_FOREACH (en, &r->by_age, next) {
		struct group_sum now = session_sum(en->session);

		assert(memcmp(&now, &en->groups.had, sizeof(now)) == 0);
	}
#endif
}

void
registry_add(struct registry *r, struct session *s)
{
	struct registry_entry *en = session_entry(s);
	struct group_sum       now = session_sum(s);

	TAILQ_INSERT_TAIL(&r->by_age, en, next);
	LIST_INSERT_HEAD(bucket_of(r, session_name(s)), en, same_hash);
	group_count(&en->groups, &now);
	check_sums(r);
	tell_status(r);
}

static bool
is_empty(const struct registry *r)
{
	return TAILQ_EMPTY(&r->by_age);
}

void
registry_remove(struct registry *r, struct session *s)
{
	struct registry_entry *en = session_entry(s);

	assert(en->session == s && registry_find(r, session_name(s)) != NULL);
	check_sums(r);
	LIST_REMOVE(en, same_hash);
	TAILQ_REMOVE(&r->by_age, en, next);
	if (session_is_spare(s))
		spares_lost(r->boxd->spares);
	registry_release(r, session_uid_base(s));
	session_free(s);
	tell_status(r);
	if (is_empty(r) && r->on_empty != NULL)
		r->on_empty(r->on_empty_arg);
}

struct group_sum
registry_sum(const struct registry *r, struct group_key k)
{
	return groups_sum(r->groups, k);
}

size_t
registry_count(const struct registry *r)
{
	return registry_sum(r, GROUP_ALL).n[SESSIONS];
}

size_t
registry_spares(const struct registry *r)
{
	return registry_sum(r, all_spares).n[SESSIONS];
}

struct wanted {
	const struct msg_spec *spec;
	struct session        *found;
};

static bool
find_fitting(struct session *s, void *arg)
{
	struct wanted *w = arg;

	if (session_fits(s, w->spec))
		w->found = s;
	return w->found == NULL;
}

/* It becomes the youngest session, also in its groups. */
struct session *
registry_take_spare(struct registry *r, const char *name, const struct msg_spec *spec)
{
	struct wanted      w = { .spec = spec };
	struct group_entry groups = { .n = 0 };

	registry_each_spare(r, find_fitting, &w);
	if (w.found == NULL || hold_groups(r, &groups, w.found, name) == -1)
		return NULL;
	assert(session_is_spare(w.found) && registry_find(r, name) == NULL);
	struct registry_entry *en = session_entry(w.found);
	struct group_sum       now = session_sum(w.found);
	group_leave(&en->groups);
	en->groups = groups;
	group_count(&en->groups, &now);
	LIST_REMOVE(en, same_hash);
	session_rename(w.found, name);
	LIST_INSERT_HEAD(bucket_of(r, name), en, same_hash);
	TAILQ_REMOVE(&r->by_age, en, next);
	TAILQ_INSERT_TAIL(&r->by_age, en, next);
	spares_used(r->boxd->spares);
	return w.found;
}

void
registry_each_of(const struct registry *r, struct group_key k, bool (*fn)(struct session *, void *), void *arg)
{
	groups_each(r->groups, k, fn, arg);
}

void
registry_each_spare(const struct registry *r, bool (*fn)(struct session *, void *), void *arg)
{
	registry_each_of(r, all_spares, fn, arg);
}

void
registry_each(struct registry *r, bool (*fn)(struct session *, void *), void *arg)
{
	struct registry_entry *en = TAILQ_FIRST(&r->by_age), *next;

	for (; en != NULL; en = next) {
		next = TAILQ_NEXT(en, next);
		if (!fn(en->session, arg))
			return;
	}
}

struct request_index *
registry_requests(const struct registry *r)
{
	return r->requests;
}

void
registry_conn_gone(struct registry *r, uint64_t conn)
{
	struct request *waits;

	while ((waits = request_index_of_conn(r->requests, conn)) != NULL)
		session_lose_client(waits);
}

struct session *
registry_request_owner(struct registry *r, uint64_t conn, uint64_t id)
{
	struct request *found = request_index_find(r->requests, conn, id);

	return found == NULL ? NULL : found->of->session;
}

static bool
close_one(struct session *s, void *arg)
{
	session_close(s, arg);
	return true;
}

void
registry_drain(struct registry *r, const char *why, void (*on_empty)(void *), void *arg)
{
	assert(r->on_empty == NULL && on_empty != NULL);
	r->on_empty = on_empty;
	r->on_empty_arg = arg;
	if (is_empty(r))
		on_empty(arg);
	else
		registry_each(r, close_one, (void *)why);
}

void
registry_close(struct registry **rp)
{
	struct registry *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	r->on_empty = NULL;
	while (!TAILQ_EMPTY(&r->by_age))
		registry_remove(r, TAILQ_FIRST(&r->by_age)->session);
	groups_close(&r->groups);
	request_index_close(&r->requests);
	free(r->slots);
	free(r);
}
