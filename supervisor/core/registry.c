#include "core/registry.h"

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
	struct request_index *requests; /* owned */
	size_t                sessions; /* those built ahead included */
	size_t                spares;
	bool                 *slots; /* owned; uid ranges in use */
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
	r->nslots = h->config->max_sessions * 2; /* spares, and adopted ones beyond a lowered maximum, need some too */
	TAILQ_INIT(&r->by_age);
	hash_key_make(&r->key);
	if ((r->requests = request_index_open(e)) == NULL)
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

struct kin {
	char     ns[NAMESPACE_LEN + 1];
	uint64_t count;
};

static bool
count_kin(struct session *s, void *arg)
{
	struct kin *k = arg;
	char        ns[NAMESPACE_LEN + 1];

	k->count += tenancy_namespace_of(session_name(s), ns) && strcmp(ns, k->ns) == 0;
	return true;
}

int
registry_room(struct registry *r, const char *name, struct err *e)
{
	const struct config *c = r->boxd->config;
	struct kin           kin = { .count = 0 };

	if (registry_count(r) >= c->max_sessions)
		return err_set(e, E_CAPACITY, "session capacity reached (max_sessions = %lu)", c->max_sessions);
	if (!tenancy_namespace_of(name, kin.ns))
		return 0;
	registry_each(r, count_kin, &kin);
	return share_check(c, kin.count, c->max_sessions, E_CAPACITY, "session capacity reached", e);
}

int
registry_uids(struct registry *r, uint32_t *uid_base, struct err *e)
{
	if (!r->boxd->machine->root) {
		*uid_base = geteuid();
		return 0;
	}
	for (size_t i = 0; i < r->nslots; i++)
		if (!r->slots[i]) {
			r->slots[i] = true;
			*uid_base = (uint32_t)(r->boxd->config->uid_base + i * UIDS);
			return 0;
		}
	return err_set(e, E_CAPACITY, "no range of uids is free");
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

void
registry_add(struct registry *r, struct session *s)
{
	struct registry_entry *en = session_entry(s);

	en->session = s;
	TAILQ_INSERT_TAIL(&r->by_age, en, next);
	LIST_INSERT_HEAD(bucket_of(r, session_name(s)), en, same_hash);
	r->sessions++;
	r->spares += session_is_spare(s);
	tell_status(r);
}

void
registry_remove(struct registry *r, struct session *s)
{
	struct registry_entry *en = session_entry(s);

	LIST_REMOVE(en, same_hash);
	TAILQ_REMOVE(&r->by_age, en, next);
	r->sessions--;
	if (session_is_spare(s)) {
		r->spares--;
		spares_lost(r->boxd->spares);
	}
	registry_release(r, session_uid_base(s));
	session_free(s);
	tell_status(r);
	if (r->sessions == 0 && r->on_empty != NULL)
		r->on_empty(r->on_empty_arg);
}

size_t
registry_count(const struct registry *r)
{
	return r->sessions - r->spares;
}

size_t
registry_spares(const struct registry *r)
{
	return r->spares;
}

struct session *
registry_take_spare(struct registry *r, const char *name, const struct msg_spec *spec)
{
	struct registry_entry *en;

	TAILQ_FOREACH (en, &r->by_age, next)
		if (session_fits(en->session, spec))
			break;
	if (en == NULL)
		return NULL;
	LIST_REMOVE(en, same_hash);
	session_rename(en->session, name);
	LIST_INSERT_HEAD(bucket_of(r, name), en, same_hash);
	TAILQ_REMOVE(&r->by_age, en, next); /* it is born now */
	TAILQ_INSERT_TAIL(&r->by_age, en, next);
	r->spares--;
	spares_used(r->boxd->spares);
	return en->session;
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
	r->on_empty = on_empty;
	r->on_empty_arg = arg;
	if (r->sessions == 0)
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
	request_index_close(&r->requests);
	free(r->slots);
	free(r);
}
