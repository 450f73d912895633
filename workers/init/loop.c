#include "loop.h"

#include <errno.h>
#include <limits.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/fd.h"

enum { BATCH = 64 };

int
loop_open(struct loop *l, struct err *e)
{
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll == -1 ? err_sys(e, "epoll_create1") : 0;
}

/*
 * A source that is not wanted now is taken out rather than polled for nothing:
 * epoll reports a hang-up even to those who asked for no event.
 */
int
loop_watch(struct loop *l, struct source *s, uint32_t events, struct err *e)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };
	int                op = s->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

	if (events == s->events)
		return 0;
	if (epoll_ctl(l->epoll, op, s->fd, &ev) == -1)
		return err_sys(e, "epoll_ctl on descriptor %d", s->fd);
	s->events = events;
	return 0;
}

/* Closing alone would leave it in epoll if somebody else holds the same open file, as of our first channel. */
void
loop_close(struct loop *l, struct source *s)
{
	if (s->events != 0)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, s->fd, NULL);
	fd_close(&s->fd);
	s->events = 0;
}

static int
timeout_ms(int64_t until_ns)
{
	if (until_ns == NEVER)
		return -1;
	int64_t left = until_ns - now_ns();
	if (left <= 0)
		return 0;
	int64_t ms = (left - 1) / 1000000 + 1; /* never early */
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

void
loop_turn(struct loop *l, int64_t until_ns)
{
	struct epoll_event got[BATCH];
	int                n = epoll_wait(l->epoll, got, BATCH, timeout_ms(until_ns));

	for (int i = 0; i < n; i++) {
		struct source *s = got[i].data.ptr;

		if (s->fd != -1) /* closed by an earlier one of this batch */
			s->ready(s, got[i].events);
	}
}

int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
