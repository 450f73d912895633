#include "core/ask.h"

#include <assert.h>
#include <stdlib.h>

#include "core/idmap.h"
#include "core/router.h"

struct own_call {
	struct idmap_entry entry;
	enum msg_type      type; /* of the request */
	ask_fn            *fn;
	void              *arg;
};

struct asks {
	struct idmap calls; /* owned */
};

struct asks *
asks_open(struct err *e)
{
	struct asks *a = malloc(sizeof(*a));

	if (a == NULL)
		err_set(e, E_SYS, "no memory");
	else
		idmap_init(&a->calls);
	return a;
}

static struct own_call *
own_call_find(struct asks *a, uint64_t id)
{
	return (struct own_call *)idmap_find(&a->calls, id);
}

static void
own_call_free(struct asks *a, struct own_call *o)
{
	idmap_remove(&a->calls, &o->entry);
	free(o);
}

void
asks_close(struct asks **ap)
{
	struct asks        *a = *ap;
	struct idmap_entry *c;

	if (a == NULL)
		return;
	*ap = NULL;
	while ((c = idmap_first(&a->calls)) != NULL)
		own_call_free(a, (struct own_call *)c);
	free(a);
}

void
asks_answer(struct asks *a, const struct msg *reply)
{
	struct own_call *o = own_call_find(a, reply->id);

	if (o == NULL)
		return;
	ask_fn *fn = o->fn;
	void   *arg = o->arg;
	own_call_free(a, o);
	fn(arg, reply);
}

uint64_t
ask_open(struct boxd *h, enum msg_type t, ask_fn *fn, void *arg, struct err *e)
{
	struct own_call *o = malloc(sizeof(*o));

	assert(fn != NULL);
	if (o == NULL) {
		err_set(e, E_SYS, "no memory for a request");
		return 0;
	}
	*o = (struct own_call){ .entry.id = boxd_next_id(h), .type = t, .fn = fn, .arg = arg };
	idmap_add(&h->asks->calls, &o->entry);
	return o->entry.id;
}

static int
own_call_route(struct boxd *h, uint64_t id, enum msg_type t, const void *body, struct err *e)
{
	return route(
	    h, &(struct msg){ .envelope = ENV_REQUEST, .type = t, .conn = CONN_OWN, .id = id, .body = body }, e);
}

uint64_t
ask(struct boxd *h, enum msg_type t, const void *body, ask_fn *fn, void *arg, struct err *e)
{
	uint64_t         id = ask_open(h, t, fn, arg, e);
	struct own_call *o;

	if (id == 0 || own_call_route(h, id, t, body, e) == 0)
		return id;
	if ((o = own_call_find(h->asks, id)) != NULL)
		own_call_free(h->asks, o);
	return 0;
}

void
ask_as(struct boxd *h, uint64_t *id, enum msg_type t, const void *body, ask_fn *fn, void *arg)
{
	struct msg refused = { .envelope = ENV_REPLY, .failed = true };

	refused.id = ask_open(h, t, fn, arg, &refused.error);
	if (id != NULL)
		*id = refused.id;
	if (refused.id == 0)
		fn(arg, &refused);
	else if (own_call_route(h, refused.id, t, body, &refused.error) == -1)
		asks_answer(h->asks, &refused);
}

static void
ignore_reply(void *arg, const struct msg *reply)
{
}

void
ask_cancel(struct boxd *h, uint64_t command)
{
	struct err ignored;

	ask(h, MSG_CANCEL, &(struct msg_cancel){ .call = command }, ignore_reply, NULL, &ignored);
}

void
ask_drop(struct boxd *h, uint64_t id)
{
	struct own_call *o = id == 0 ? NULL : own_call_find(h->asks, id);

	if (o == NULL)
		return;
	bool is_exec = o->type == MSG_EXEC;
	own_call_free(h->asks, o);
	if (is_exec)
		ask_cancel(h, id);
}
