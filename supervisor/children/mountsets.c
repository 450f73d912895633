#include "children/mountsets.h"

#include <assert.h>
#include <ev.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/bounds.h"
#include "base/fd.h"

struct set {
	TAILQ_ENTRY(set) next;
	struct mountset is; /* owned */
	uint64_t        session;
	uint8_t         key[MOUNTSET_KEY];
	double          used;
};

struct mountsets {
	struct ev_loop *loop;
	ev_timer        age_timer; /* runs while there is any */
	TAILQ_HEAD(, set) by_use;  /* owned; the one used longest ago first */
	size_t n;
};

static void
set_drop(struct mountsets *m, struct set *s)
{
	assert(m->n > 0);
	TAILQ_REMOVE(&m->by_use, s, next);
	m->n--;
	fd_close(&s->is.ns);
	free(s->is.sources);
	free(s);
}

/* For the one that will be too old next. */
static void
watch_oldest(struct mountsets *m)
{
	const struct set *s = TAILQ_FIRST(&m->by_use);

	if (s == NULL || ev_is_active(&m->age_timer))
		return;
	ev_timer_set(&m->age_timer, s->used + LIM_MOUNTSET_SEC - ev_now(m->loop), 0.);
	ev_timer_start(m->loop, &m->age_timer);
}

static void
on_age_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct mountsets *m = t->data;
	struct set       *s;

	while ((s = TAILQ_FIRST(&m->by_use)) != NULL && s->used + LIM_MOUNTSET_SEC <= ev_now(loop) + .1)
		set_drop(m, s);
	watch_oldest(m);
}

static struct set *
set_find(const struct mountsets *m, uint64_t session, const uint8_t *key)
{
	struct set *s;

	TAILQ_FOREACH (s, &m->by_use, next)
		if (s->session == session && memcmp(s->key, key, MOUNTSET_KEY) == 0)
			return s;
	return NULL;
}

const struct mountset *
mountsets_find(struct mountsets *m, uint64_t session, const uint8_t key[MOUNTSET_KEY])
{
	struct set *s = set_find(m, session, key);

	if (s == NULL)
		return NULL;
	s->used = ev_now(m->loop);
	TAILQ_REMOVE(&m->by_use, s, next);
	TAILQ_INSERT_TAIL(&m->by_use, s, next);
	return &s->is;
}

void
mountsets_keep(struct mountsets *m, uint64_t session, const uint8_t key[MOUNTSET_KEY], int ns, const char *sources)
{
	struct set *s = set_find(m, session, key);

	if (s != NULL)
		set_drop(m, s);
	if (m->n == LIM_MOUNTSETS)
		set_drop(m, TAILQ_FIRST(&m->by_use));
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return;
	s->session = session;
	s->used = ev_now(m->loop);
	memcpy(s->key, key, MOUNTSET_KEY);
	s->is.ns = fcntl(ns, F_DUPFD_CLOEXEC, 0);
	s->is.sources = strdup(sources);
	TAILQ_INSERT_TAIL(&m->by_use, s, next);
	m->n++;
	if (s->is.ns == -1 || s->is.sources == NULL)
		set_drop(m, s);
	watch_oldest(m);
}

void
mountsets_forget(struct mountsets *m, uint64_t session)
{
	struct set *s, *next;

	for (s = TAILQ_FIRST(&m->by_use); s != NULL; s = next) {
		next = TAILQ_NEXT(s, next);
		if (s->session == session)
			set_drop(m, s);
	}
}

struct mountsets *
mountsets_open(struct ev_loop *loop)
{
	struct mountsets *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->loop = loop;
	TAILQ_INIT(&m->by_use);
	ev_timer_init(&m->age_timer, on_age_timer, 0., 0.);
	m->age_timer.data = m;
	return m;
}

void
mountsets_close(struct mountsets **mp)
{
	struct mountsets *m = *mp;

	if (m == NULL)
		return;
	*mp = NULL;
	ev_timer_stop(m->loop, &m->age_timer);
	while (!TAILQ_EMPTY(&m->by_use))
		set_drop(m, TAILQ_FIRST(&m->by_use));
	free(m);
}
