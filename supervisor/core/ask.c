#include "core/ask.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "core/router.h"

struct internal_call {
	LIST_ENTRY(internal_call) next;
	uint64_t id;
	ask_fn  *fn;
	void    *arg;
	bool     is_exec;
};

LIST_HEAD(ones, internal_call);

enum { BUCKETS = 256 };

struct internal_calls {
	struct ones bucket[BUCKETS]; /* owned, by id; ids count up, so they spread evenly */
};

struct internal_calls *
internal_calls_open(struct err *e)
{
	struct internal_calls *a = calloc(1, sizeof(*a));

	if (a == NULL)
		err_set(e, E_SYS, "no memory");
	return a;
}

void
internal_calls_close(struct internal_calls **ap)
{
	struct internal_calls *a = *ap;
	struct internal_call  *o;

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

static struct internal_call *
find(struct internal_calls *a, uint64_t id)
{
	struct internal_call *o;

	LIST_FOREACH (o, &a->bucket[id % BUCKETS], next)
		if (o->id == id)
			return o;
	return NULL;
}

static void
forget(struct internal_call *o)
{
	LIST_REMOVE(o, next);
	free(o);
}

/* Out of the table first: fn may ask again, or end whoever asked. */
static void
answer(struct internal_calls *a, const struct msg *reply)
{
	struct internal_call *o = find(a, reply->id);

	if (o == NULL)
		return;
	ask_fn *fn = o->fn;
	void   *arg = o->arg;
	forget(o);
	fn(arg, reply);
}

void
asks_reply(struct internal_calls *a, enum msg_type t, uint64_t id, const void *body)
{
	answer(a, &(struct msg){ .envelope = ENV_REPLY, .id = id, .type = t, .body = body });
}

void
asks_fail(struct internal_calls *a, uint64_t id, const struct err *why)
{
	answer(a, &(struct msg){ .envelope = ENV_REPLY, .id = id, .failed = true, .error = *why });
}

uint64_t
ask(struct boxd *h, enum msg_type t, const void *body, ask_fn *fn, void *arg, struct err *e)
{
	struct msg m = { .envelope = ENV_REQUEST, .type = t, .conn = CONN_OWN, .id = boxd_next_id(h), .body = body };
	struct internal_call *o = malloc(sizeof(*o));

	if (o == NULL) {
		err_set(e, E_SYS, "no memory for a request");
		return 0;
	}
	*o = (struct internal_call){ .id = m.id, .fn = fn, .arg = arg, .is_exec = t == MSG_EXEC };
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
ask_drop(struct boxd *h, uint64_t id)
{
	struct internal_call *o = id == 0 ? NULL : find(h->asks, id);
	struct msg_cancel     cancel = { .call = id };
	struct err            e;

	if (o == NULL)
		return;
	bool is_exec = o->is_exec;
	forget(o);
	if (is_exec)
		ask(h, MSG_CANCEL, &cancel, ignore, NULL, &e);
}
