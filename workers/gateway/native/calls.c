#include "native/calls.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct call {
	uint64_t      id;
	enum msg_type type;
};

enum { FIRST_CAP = 8 };

static int
grow(struct calls *c, struct err *e)
{
	size_t       cap = c->cap ? 2 * c->cap : FIRST_CAP;
	struct call *v = reallocarray(c->v, cap, sizeof(*v));

	if (v == NULL)
		return err_set(e, E_SYS, "no memory for a request");
	c->v = v;
	c->cap = cap;
	return 0;
}

int
calls_add(struct calls *c, uint64_t id, enum msg_type t, struct err *e)
{
	assert(c->n == 0 || c->v[c->n - 1].id < id);
	if (c->n == c->cap && grow(c, e) == -1)
		return -1;
	c->v[c->n++] = (struct call){ id, t };
	c->pings += t == MSG_PING;
	return 0;
}

static int
by_id(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

enum msg_type
calls_take(struct calls *c, uint64_t id)
{
	struct call  key = { .id = id };
	struct call *found = c->n > 0 ? bsearch(&key, c->v, c->n, sizeof(key), by_id) : NULL;

	if (found == NULL)
		return MSG_NONE;
	enum msg_type t = found->type;
	assert(t != MSG_PING || c->pings > 0);
	c->n--;
	c->pings -= t == MSG_PING;
	memmove(found, found + 1, (size_t)(c->v + c->n - found) * sizeof(*found));
	if (c->n == 0) /* an idle client keeps nothing */
		calls_clear(c);
	return t;
}

void
calls_clear(struct calls *c)
{
	free(c->v);
	*c = (struct calls){ 0 };
}
