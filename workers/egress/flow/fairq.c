/*
 * libev watches one descriptor for all of this: the epoll set below.  It could watch the sockets itself, but only for
 * what is wanted of them: a reset of a side that is not read, because the other is slow, would not be seen.  And each
 * connection that waits would cost two changes of the kernel's set, where this costs none.
 *
 * Events are only written down while they are read.  Turns are run afterwards, and nothing that ended in one of them
 * can be in a list of events.
 */
#include "flow/fairq.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/fd.h"

enum {
	EVENTS = 256, /* read at once */
	BURST = 64,   /* turns before the channel and the listeners get theirs, */
	HEAVY = 4,    /* and those of them that did all they may in one: together less than a millisecond */
};

struct fairq {
	struct ev_loop *loop;
	int             set; /* owned */
	ev_io           reported;
	ev_idle         more; /* runs while somebody waits */
	TAILQ_HEAD(, fairq_class) parties;
};

static bool
fairq_class_waits(const struct fairq_class *p)
{
	return !TAILQ_EMPTY(&p->waiting);
}

void
fairq_class_init(struct fairq_class *p)
{
	TAILQ_INIT(&p->waiting);
}

void
turn_soon(struct fairq *t, struct turn *one)
{
	struct fairq_class *p = one->class;

	assert(p != NULL && one->fn != NULL);
	if (one->waits)
		return;
	if (!fairq_class_waits(p))
		TAILQ_INSERT_TAIL(&t->parties, p, next);
	one->waits = true;
	TAILQ_INSERT_TAIL(&p->waiting, one, next);
	ev_idle_start(t->loop, &t->more);
}

void
turn_stop(struct fairq *t, struct turn *one)
{
	if (!one->waits)
		return;
	one->waits = false;
	TAILQ_REMOVE(&one->class->waiting, one, next);
	if (!fairq_class_waits(one->class))
		TAILQ_REMOVE(&t->parties, one->class, next);
}

/* The first of the first party, which goes behind the others. */
static struct turn *
next_turn(struct fairq *t)
{
	struct fairq_class *p = TAILQ_FIRST(&t->parties);
	struct turn        *one = TAILQ_FIRST(&p->waiting);

	assert(one != NULL && one->waits && one->class == p);
	turn_stop(t, one);
	if (fairq_class_waits(p)) {
		TAILQ_REMOVE(&t->parties, p, next);
		TAILQ_INSERT_TAIL(&t->parties, p, next);
	}
	return one;
}

static void
read_events(struct fairq *t)
{
	struct epoll_event events[EVENTS];
	int                n = epoll_wait(t->set, events, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct wire *wire = events[i].data.ptr;

		wire->seen |= events[i].events;
		turn_soon(t, wire->turn);
	}
}

/*
 * After a heavy turn others may have something to do, and they come first.  Without that look, one that never has more
 * than one turn's work waiting would be passed by those that always have.
 */
static void
fairq_run(struct fairq *t)
{
	for (int i = 0, heavy = 0; i < BURST && heavy < HEAVY && !TAILQ_EMPTY(&t->parties); i++) {
		struct turn *one = next_turn(t);

		if (!one->fn(one))
			continue;
		heavy++;
		read_events(t);
		turn_soon(t, one);
	}
	if (TAILQ_EMPTY(&t->parties))
		ev_idle_stop(t->loop, &t->more);
}

static void
on_more(struct ev_loop *loop, ev_idle *w, int revents)
{
	fairq_run(w->data);
}

static void
on_reported(struct ev_loop *loop, ev_io *w, int revents)
{
	struct fairq *t = w->data;

	read_events(t);
	fairq_run(t);
}

int
fairq_watch(struct fairq *t, struct wire *w, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = w };

	assert(w->fd >= 0 && w->turn != NULL);
	return epoll_ctl(t->set, EPOLL_CTL_ADD, w->fd, &event) == 0 ? 0 : err_sys(e, "watch a connection");
}

struct fairq *
fairq_open(struct ev_loop *loop, struct err *e)
{
	struct fairq *t = calloc(1, sizeof(*t));

	if (t == NULL || (t->set = epoll_create1(EPOLL_CLOEXEC)) == -1) {
		err_sys(e, "a set of sockets to watch");
		free(t);
		return NULL;
	}
	t->loop = loop;
	TAILQ_INIT(&t->parties);
	ev_io_init(&t->reported, on_reported, t->set, EV_READ);
	ev_idle_init(&t->more, on_more);
	ev_set_priority(&t->more, EV_MAXPRI); /* in every round of the loop, and not only in those with nothing else */
	t->reported.data = t->more.data = t;
	ev_io_start(loop, &t->reported);
	return t;
}

void
fairq_close(struct fairq **tp)
{
	struct fairq *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	ev_io_stop(t->loop, &t->reported);
	ev_idle_stop(t->loop, &t->more);
	fd_close(&t->set);
	free(t);
}
