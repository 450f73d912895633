/*
 * What waits for an answer, found by the number that the answer names.  A call is the first member of whatever its owner
 * keeps about it; the owner allocates and frees that.
 */
#ifndef SUPERVISOR_CALLS_H
#define SUPERVISOR_CALLS_H

#include <stdint.h>
#include <sys/queue.h>

enum { CALL_BUCKETS = 256 }; /* ids count up, so they spread evenly */

struct call {
	TAILQ_ENTRY(call) next; /* in the order of asking */
	LIST_ENTRY(call) same_bucket;
	uint64_t id;
};

struct calls {
	TAILQ_HEAD(, call) all;
	LIST_HEAD(, call) bucket[CALL_BUCKETS];
};

static inline void
calls_init(struct calls *c)
{
	TAILQ_INIT(&c->all);
	for (size_t i = 0; i < CALL_BUCKETS; i++)
		LIST_INIT(&c->bucket[i]);
}

static inline void
calls_add(struct calls *c, struct call *one)
{
	TAILQ_INSERT_TAIL(&c->all, one, next);
	LIST_INSERT_HEAD(&c->bucket[one->id % CALL_BUCKETS], one, same_bucket);
}

/* Before its function is called: that may ask again, or end whoever asked. */
static inline void
calls_remove(struct calls *c, struct call *one)
{
	TAILQ_REMOVE(&c->all, one, next);
	LIST_REMOVE(one, same_bucket);
}

/* NULL: nobody waits for it any more. */
static inline struct call *
calls_find(const struct calls *c, uint64_t id)
{
	struct call *one;

	LIST_FOREACH (one, &c->bucket[id % CALL_BUCKETS], same_bucket)
		if (one->id == id)
			return one;
	return NULL;
}

/* The one that was asked first, or NULL. */
static inline struct call *
calls_first(const struct calls *c)
{
	return TAILQ_FIRST(&c->all);
}

#endif
