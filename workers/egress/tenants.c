#include "tenants.h"

#include <stdlib.h>
#include <sys/queue.h>

enum { CHAINS = 1024 }; /* ids are counted up, so sessions spread evenly */

struct entry {
	LIST_ENTRY(entry) next;
	struct tenant *tenant; /* owned */
};

LIST_HEAD(chain, entry);

struct tenants {
	struct chain chains[CHAINS];
};

struct tenants *
tenants_open(struct err *e)
{
	struct tenants *t = calloc(1, sizeof(*t));

	if (t == NULL)
		err_set(e, E_SYS, "no memory for sessions");
	return t;
}

static struct entry *
find(struct tenants *t, uint64_t id)
{
	struct entry *one;

	LIST_FOREACH (one, &t->chains[id % CHAINS], next)
		if (tenant_id(one->tenant) == id)
			return one;
	return NULL;
}

struct tenant *
tenants_find(struct tenants *t, uint64_t id)
{
	struct entry *one = find(t, id);

	return one != NULL ? one->tenant : NULL;
}

int
tenants_add(struct tenants *t, struct tenant *who, struct err *e)
{
	struct entry *one = calloc(1, sizeof(*one));

	if (one == NULL) {
		tenant_close(&who);
		return err_set(e, E_SYS, "no memory for a session");
	}
	one->tenant = who;
	LIST_INSERT_HEAD(&t->chains[tenant_id(who) % CHAINS], one, next);
	return 0;
}

static void
drop(struct entry *one)
{
	LIST_REMOVE(one, next);
	tenant_close(&one->tenant);
	free(one);
}

void
tenants_drop(struct tenants *t, uint64_t id)
{
	struct entry *one = find(t, id);

	if (one != NULL)
		drop(one);
}

void
tenants_each(struct tenants *t, void (*fn)(struct tenant *))
{
	struct entry *one;

	for (size_t i = 0; i < CHAINS; i++)
		LIST_FOREACH (one, &t->chains[i], next)
			fn(one->tenant);
}

void
tenants_close(struct tenants **tp)
{
	struct tenants *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	for (size_t i = 0; i < CHAINS; i++)
		while (!LIST_EMPTY(&t->chains[i]))
			drop(LIST_FIRST(&t->chains[i]));
	free(t);
}
