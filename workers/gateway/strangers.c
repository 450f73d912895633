#include "strangers.h"

#include <stdlib.h>
#include <string.h>

TAILQ_HEAD(stranger_list, stranger);

struct stranger_group {
	LIST_ENTRY(stranger_group) next;
	struct netaddr       network;
	bool                 known;
	size_t               n;
	struct stranger_list members; /* oldest first */
};

struct netaddr
stranger_network(const struct netaddr *a)
{
	struct netaddr n = *a;

	if (n.family == 6)
		memset(n.bytes + 8, 0, 8);
	return n;
}

static bool
is_loopback(const struct netaddr *a)
{
	static const struct netaddr v4 = { 4, { 127 } }, v6 = { 6, { [15] = 1 } };

	return netaddr_within(a, &v4, 8) || netaddr_same(a, &v6);
}

/* n_known: it is not. */
static size_t
known_at(const struct strangers *s, const struct netaddr *network)
{
	size_t i = 0;

	while (i < s->n_known && !netaddr_same(&s->known[i], network))
		i++;
	return i;
}

static bool
is_known(const struct strangers *s, const struct netaddr *from)
{
	struct netaddr network = stranger_network(from);

	return is_loopback(from) || known_at(s, &network) < s->n_known;
}

/* ---- groups ---- */

static struct stranger_group *
group_find(const struct strangers *s, const struct netaddr *network)
{
	struct stranger_group *g;

	LIST_FOREACH (g, &s->groups, next)
		if (netaddr_same(&g->network, network))
			return g;
	return NULL;
}

static struct stranger_group *
group_open(struct strangers *s, const struct netaddr *from)
{
	struct stranger_group *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->network = stranger_network(from);
	g->known = is_known(s, from);
	TAILQ_INIT(&g->members);
	LIST_INSERT_HEAD(&s->groups, g, next);
	return g;
}

static void
group_becomes_known(struct strangers *s, struct stranger_group *g)
{
	if (g->known)
		return;
	g->known = true;
	s->count[false] -= g->n;
	s->count[true] += g->n;
}

int
stranger_add(struct strangers *s, struct stranger *who, const struct netaddr *from)
{
	struct netaddr         network = stranger_network(from);
	struct stranger_group *g = group_find(s, &network);

	if (g == NULL && (g = group_open(s, from)) == NULL)
		return -1;
	*who = (struct stranger){ .group = g, .serial = s->serial++, .stage = STRANGER_READING };
	TAILQ_INSERT_TAIL(&g->members, who, next);
	g->n++;
	s->count[g->known]++;
	return 0;
}

void
stranger_remove(struct strangers *s, struct stranger *who)
{
	struct stranger_group *g = who->group;

	if (g == NULL)
		return;
	TAILQ_REMOVE(&g->members, who, next);
	who->group = NULL;
	s->count[g->known]--;
	if (--g->n > 0)
		return;
	LIST_REMOVE(g, next);
	free(g);
}

/* To the front of those that are known. */
static void
remember(struct strangers *s, const struct netaddr *network)
{
	size_t         i = known_at(s, network);
	struct netaddr a = *network;

	if (i == s->n_known && s->n_known < STRANGERS_KNOWN)
		s->n_known++;
	else if (i == s->n_known)
		i--;
	memmove(&s->known[1], &s->known[0], i * sizeof(s->known[0]));
	s->known[0] = a;
}

void
stranger_is_known(struct strangers *s, struct stranger *who)
{
	if (who->group == NULL)
		return;
	group_becomes_known(s, who->group);
	remember(s, &who->group->network);
	stranger_remove(s, who);
}

/* ---- who makes room ---- */

bool
strangers_are_full(const struct strangers *s)
{
	return s->count[false] + s->count[true] >= s->most;
}

/* May those of known addresses stay?  Then one of the others makes room. */
static bool
spares_known(const struct strangers *s, bool for_known)
{
	size_t others = s->count[false], kept = s->most / 4;

	if (others == 0 || s->count[true] == 0)
		return others > 0;
	return for_known ? others > kept : others >= kept;
}

static struct stranger *
weakest(const struct stranger_group *g)
{
	struct stranger *who, *found = TAILQ_FIRST(&g->members);

	TAILQ_FOREACH (who, &g->members, next)
		if (who->stage < found->stage)
			found = who;
	return found;
}

static bool
is_weaker(const struct stranger *a, const struct stranger *b)
{
	return a->stage != b->stage ? a->stage < b->stage : a->serial < b->serial;
}

struct stranger *
strangers_victim(const struct strangers *s, const struct netaddr *from)
{
	bool                   known = !spares_known(s, from == NULL || is_known(s, from));
	size_t                 most = 0;
	struct stranger       *found = NULL;
	struct stranger_group *g;

	LIST_FOREACH (g, &s->groups, next) {
		if (g->known != known || g->n < most)
			continue;
		struct stranger *who = weakest(g);
		if (found == NULL || g->n > most || is_weaker(who, found))
			found = who;
		most = g->n;
	}
	return found;
}

const char *
stranger_text(const struct stranger *who, char text[NETADDR_TEXT])
{
	return netaddr_text(&who->group->network, text);
}
