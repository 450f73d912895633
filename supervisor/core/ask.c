#include "core/ask.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "core/router.h"

struct one {
	LIST_ENTRY(one) next;
	uint64_t id;
	ask_fn  *fn;
	void    *arg;
	bool     is_exec;
};

LIST_HEAD(ones, one);

enum { BUCKETS = 256 };

struct asks {
	struct ones bucket[BUCKETS]; /* owned, by id; ids count up, so they spread evenly */
};

struct asks *
asks_open(struct err *e)
{
	struct asks *a = calloc(1, sizeof(*a));

	if (a == NULL)
		err_set(e, E_SYS, "no memory");
	return a;
}

void
asks_close(struct asks **ap)
{
	struct asks *a = *ap;
	struct one  *o;

	if (a == NULL)
		return;
	*ap = NULL;
	for (size_t i = 0; i < BUCKETS; i++)
		while ((o = LIST_FIRST(&a->bucket[i])) != NULL) {
			LIST_REMOVE(o, next);
			free(o);
		}
	free(a);
}

static struct one *
find(struct asks *a, uint64_t id)
{
	struct one *o;

	LIST_FOREACH (o, &a->bucket[id % BUCKETS], next)
		if (o->id == id)
			return o;
	return NULL;
}

static void
forget(struct one *o)
{
	LIST_REMOVE(o, next);
	free(o);
}

/* Out of the table first: fn may ask again, or end whoever asked. */
static void
answer(struct asks *a, const struct msg *reply)
{
	struct one *o = find(a, reply->id);

	if (o == NULL)
		return;
	ask_fn *fn = o->fn;
	void   *arg = o->arg;
	forget(o);
	fn(arg, reply);
}

void
asks_reply(struct asks *a, enum msg_type t, uint64_t id, const void *body)
{
	answer(a, &(struct msg){ .envelope = ENV_REPLY, .id = id, .type = t, .body = body });
}

void
asks_fail(struct asks *a, uint64_t id, const struct err *why)
{
	answer(a, &(struct msg){ .envelope = ENV_REPLY, .id = id, .failed = true, .error = *why });
}

uint64_t
ask(struct house *h, enum msg_type t, const void *body, ask_fn *fn, void *arg, struct err *e)
{
	struct msg  m = { .envelope = ENV_REQUEST, .type = t, .conn = CONN_OWN, .id = house_next_id(h), .body = body };
	struct one *o = malloc(sizeof(*o));

	if (o == NULL) {
		err_set(e, E_SYS, "no memory for a request");
		return 0;
	}
	*o = (struct one){ .id = m.id, .fn = fn, .arg = arg, .is_exec = t == MSG_EXEC };
	LIST_INSERT_HEAD(&h->asks->bucket[m.id % BUCKETS], o, next);
	if (route(h, &m, e) == 0)
		return m.id;
	o = find(h->asks, m.id);
	if (o != NULL)
		forget(o);
	return 0;
}

static void
ignore(void *arg, const struct msg *reply)
{
	(void)arg;
	(void)reply;
}

void
ask_drop(struct house *h, uint64_t id)
{
	struct one       *o = id == 0 ? NULL : find(h->asks, id);
	struct msg_cancel cancel = { .call = id };
	struct err        e;

	if (o == NULL)
		return;
	bool is_exec = o->is_exec;
	forget(o);
	if (is_exec)
		ask(h, MSG_CANCEL, &cancel, ignore, NULL, &e);
}
