#include "core/groups.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "boxd.h"
#include "core/hash.h"

enum { BUCKETS = 8192 };

struct session_group {
	LIST_ENTRY(session_group) same_hash;
	size_t           held; /* by sessions; freed with the last */
	struct group_sum sum;
	TAILQ_HEAD(, membership) sessions; /* counted ones, oldest first */
	size_t len;
	char   key[];
};

struct groups {
	LIST_HEAD(group_bucket, session_group) bucket[BUCKETS]; /* owned by those who hold them */
	struct hash_key key;
};

struct groups *
groups_open(struct err *e)
{
	struct groups *t = calloc(1, sizeof(*t));

	if (t == NULL)
		err_set(e, E_SYS, "no memory to count sessions");
	else
		hash_key_make(&t->key);
	return t;
}

void
groups_close(struct groups **tp)
{
	free(*tp);
	*tp = NULL;
}

static const struct group_bucket *
bucket_of(const struct groups *t, struct group_key k)
{
	return &t->bucket[hash_of(&t->key, k.text, k.len) % BUCKETS];
}

static struct session_group *
group_find(const struct groups *t, struct group_key k)
{
	struct session_group *g;

	LIST_FOREACH (g, bucket_of(t, k), same_hash)
		if (g->len == k.len && memcmp(g->key, k.text, k.len) == 0)
			return g;
	return NULL;
}

static struct session_group *
group_find_or_make(struct groups *t, struct group_key k)
{
	struct session_group *g = group_find(t, k);

	if (g != NULL || (g = calloc(1, sizeof(*g) + k.len)) == NULL)
		return g;
	TAILQ_INIT(&g->sessions);
	g->len = k.len;
	memcpy(g->key, k.text, k.len);
	LIST_INSERT_HEAD((struct group_bucket *)bucket_of(t, k), g, same_hash);
	return g;
}

int
group_hold(struct groups *t, struct group_entry *en, struct session *s, const struct group_key *keys, size_t n)
{
	assert(n <= GROUPS_MOST && en->n == 0 && !en->counted);
	for (; en->n < n; en->n++) {
		struct session_group *g = group_find_or_make(t, keys[en->n]);

		if (g == NULL) {
			group_leave(en);
			return -1;
		}
		g->held++;
		en->in[en->n] = (struct membership){ .group = g, .session = s };
	}
	return 0;
}

void
group_count(struct group_entry *en, const struct group_sum *now)
{
	for (size_t i = 0; i < en->n; i++) {
		struct session_group *g = en->in[i].group;

		for (size_t k = 0; k < GROUP_SUMS; k++) {
			counter_sub(&g->sum.n[k], en->had.n[k]);
			g->sum.n[k] += now->n[k];
		}
		if (!en->counted)
			TAILQ_INSERT_TAIL(&g->sessions, &en->in[i], next);
	}
	en->had = *now;
	en->counted = true;
}

void
group_leave(struct group_entry *en)
{
	bool was = en->counted;

	if (was)
		group_count(en, &(struct group_sum){ .n = { 0 } });
	while (en->n > 0) {
		struct membership *m = &en->in[--en->n];

		if (was)
			TAILQ_REMOVE(&m->group->sessions, m, next);
		assert(m->group->held > 0);
		if (--m->group->held > 0)
			continue;
		assert(TAILQ_EMPTY(&m->group->sessions) && m->group->sum.n[SESSIONS] == 0);
		LIST_REMOVE(m->group, same_hash);
		free(m->group);
	}
	en->counted = false;
}

struct group_sum
groups_sum(const struct groups *t, struct group_key k)
{
	const struct session_group *g = group_find(t, k);

	return g == NULL ? (struct group_sum){ .n = { 0 } } : g->sum;
}

void
groups_each(const struct groups *t, struct group_key k, bool (*fn)(struct session *, void *), void *arg)
{
	struct session_group *g = group_find(t, k);
	struct membership    *m = g == NULL ? NULL : TAILQ_FIRST(&g->sessions), *next;

	for (; m != NULL; m = next) {
		next = TAILQ_NEXT(m, next);
		if (!fn(m->session, arg))
			return;
	}
}
