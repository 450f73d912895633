#include "rules/denials.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct denial {
	TAILQ_ENTRY(denial) next;
	struct msg_net_denial what; /* its strings are in text */
	uint64_t              told_ms;
	uint64_t              untold; /* since then */
	bool                  was_told;
	char                  text[];
};

void
denials_init(struct denials *d)
{
	*d = (struct denials){ 0 };
	TAILQ_INIT(&d->v);
}

static void
drop(struct denials *d, struct denial *one)
{
	assert(d->n > 0);
	TAILQ_REMOVE(&d->v, one, next);
	d->n--;
	free(one);
}

void
denials_clear(struct denials *d)
{
	while (!TAILQ_EMPTY(&d->v))
		drop(d, TAILQ_FIRST(&d->v));
}

static struct denial *
denial_find(struct denials *d, const struct msg_net_denial *what)
{
	struct denial *one;

	TAILQ_FOREACH (one, &d->v, next)
		if (one->what.kind == what->kind && one->what.port == what->port &&
		    strcmp(one->what.address, what->address) == 0 && strcmp(one->what.name, what->name) == 0 &&
		    strcmp(one->what.rule, what->rule) == 0)
			return one;
	return NULL;
}

static const char *
copy(char **to, const char *text)
{
	const char *here = *to;
	size_t      n = strlen(text) + 1;

	memcpy(*to, text, n);
	*to += n;
	return here;
}

static struct denial *
denial_new(const struct msg_net_denial *what)
{
	size_t         n = strlen(what->name) + strlen(what->address) + strlen(what->rule) + 3;
	struct denial *one = calloc(1, sizeof(*one) + n);

	if (one == NULL)
		return NULL;
	char *to = one->text;
	one->what = *what;
	one->what.name = copy(&to, what->name);
	one->what.address = copy(&to, what->address);
	one->what.rule = copy(&to, what->rule);
	one->what.count = 0;
	return one;
}

/* Found or made, and in front; NULL without memory. */
static struct denial *
bring_up(struct denials *d, const struct msg_net_denial *what)
{
	struct denial *one = denial_find(d, what);

	if (one != NULL) {
		TAILQ_REMOVE(&d->v, one, next);
	} else {
		if ((one = denial_new(what)) == NULL)
			return NULL;
		if (d->n == LIM_NET_DENIALS)
			drop(d, TAILQ_LAST(&d->v, denial_list));
		d->n++;
	}
	TAILQ_INSERT_HEAD(&d->v, one, next);
	return one;
}

static bool
may_tell(struct denials *d, const struct denial *one, uint64_t now_ms)
{
	if (one->was_told && now_ms - one->told_ms < DENIALS_SAME_MS)
		return false;
	if (now_ms - d->second_ms >= 1000) {
		d->second_ms = now_ms;
		d->reported = 0;
	}
	return d->reported < DENIALS_SECOND;
}

bool
denials_add(struct denials *d, const struct msg_net_denial *what, uint64_t now_ms, uint64_t *count)
{
	struct denial *one = bring_up(d, what);

	if (one == NULL)
		return false;
	one->what.count += what->count;
	one->what.at_ms = what->at_ms;
	one->untold += what->count;
	if (!may_tell(d, one, now_ms))
		return false;
	*count = one->untold;
	one->untold = 0;
	one->told_ms = now_ms;
	one->was_told = true;
	d->reported++;
	return true;
}

size_t
denials_list(const struct denials *d, struct msg_net_denial v[LIM_NET_DENIALS])
{
	const struct denial *one;
	size_t               n = 0;

	TAILQ_FOREACH (one, &d->v, next)
		v[n++] = one->what;
	return n;
}
