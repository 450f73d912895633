#include "net_sessions.h"

#include <stdlib.h>
#include <sys/queue.h>

enum { CHAINS = 1024 }; /* ids are counted up, so sessions spread evenly */

struct entry {
	LIST_ENTRY(entry) next;
	struct net_session *tenant; /* owned */
};

LIST_HEAD(chain, entry);

struct net_sessions {
	struct chain chains[CHAINS];
};

struct net_sessions *
net_sessions_open(struct err *e)
{
	struct net_sessions *t = calloc(1, sizeof(*t));

	if (t == NULL)
		err_set(e, E_SYS, "no memory for sessions");
	return t;
}

static struct entry *
entry_find(struct net_sessions *t, uint64_t id)
{
	struct entry *one;

	LIST_FOREACH (one, &t->chains[id % CHAINS], next)
		if (net_session_id(one->tenant) == id)
			return one;
	return NULL;
}

struct net_session *
net_sessions_find(struct net_sessions *t, uint64_t id)
{
	struct entry *one = entry_find(t, id);

	return one != NULL ? one->tenant : NULL;
}

int
net_sessions_add(struct net_sessions *t, struct net_session *who, struct err *e)
{
	struct entry *one = calloc(1, sizeof(*one));

	if (one == NULL) {
		net_session_close(&who);
		return err_set(e, E_SYS, "no memory for a session");
	}
	one->tenant = who;
	LIST_INSERT_HEAD(&t->chains[net_session_id(who) % CHAINS], one, next);
	return 0;
}

static void
drop(struct entry *one)
{
	LIST_REMOVE(one, next);
	net_session_close(&one->tenant);
	free(one);
}

void
net_sessions_drop(struct net_sessions *t, uint64_t id)
{
	struct entry *one = entry_find(t, id);

	if (one != NULL)
		drop(one);
}

void
net_sessions_each(struct net_sessions *t, void (*fn)(struct net_session *))
{
	struct entry *one;

	for (size_t i = 0; i < CHAINS; i++)
		LIST_FOREACH (one, &t->chains[i], next)
			fn(one->tenant);
}

void
net_sessions_close(struct net_sessions **tp)
{
	struct net_sessions *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	for (size_t i = 0; i < CHAINS; i++)
		while (!LIST_EMPTY(&t->chains[i]))
			drop(LIST_FIRST(&t->chains[i]));
	free(t);
}
