/*
 * Things found by number, such as requests that wait for a reply.  An entry is the first member of whatever its owner
 * keeps; the owner allocates and frees that.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum { IDMAP_BUCKETS = 256 }; /* ids count up, so they spread evenly */

struct idmap_entry {
	TAILQ_ENTRY(idmap_entry) next; /* in the order in which they were added */
	LIST_ENTRY(idmap_entry) same_bucket;
	uint64_t id;
};

struct idmap {
	TAILQ_HEAD(, idmap_entry) all;
	LIST_HEAD(, idmap_entry) bucket[IDMAP_BUCKETS];
};

static inline void
idmap_init(struct idmap *m)
{
	TAILQ_INIT(&m->all);
	for (size_t i = 0; i < IDMAP_BUCKETS; i++)
		LIST_INIT(&m->bucket[i]);
}

/* NULL: it was removed, or never there. */
static inline struct idmap_entry *
idmap_find(const struct idmap *m, uint64_t id)
{
	struct idmap_entry *one;

	LIST_FOREACH (one, &m->bucket[id % IDMAP_BUCKETS], same_bucket)
		if (one->id == id)
			return one;
	return NULL;
}

static inline void
idmap_add(struct idmap *m, struct idmap_entry *one)
{
	assert(one->id != 0 && idmap_find(m, one->id) == NULL);
	TAILQ_INSERT_TAIL(&m->all, one, next);
	LIST_INSERT_HEAD(&m->bucket[one->id % IDMAP_BUCKETS], one, same_bucket);
}

/* Of a request, before its function is called: that may ask again, or end whoever asked. */
static inline void
idmap_remove(struct idmap *m, struct idmap_entry *one)
{
	TAILQ_REMOVE(&m->all, one, next);
	LIST_REMOVE(one, same_bucket);
}

/* The oldest, or NULL. */
static inline struct idmap_entry *
idmap_first(const struct idmap *m)
{
	return TAILQ_FIRST(&m->all);
}
