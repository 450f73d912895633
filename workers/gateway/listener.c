/*
 * Accepting has two ways to go wrong.  The client is gone again: take the next.
 * The kernel has no descriptor or memory left: the listener stays readable, so
 * look away for a moment instead of spinning.
 */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"

/* Accepted before other watchers get their turn: few, so that a flood does not push out clients whose requests are there. */
enum { BURST = 8 };

static const double RETRY_SEC = 1.; /* after the kernel had no room; also how often that is logged */

struct listener {
	struct ev_loop  *loop;
	int              fd; /* owned */
	listener_client *on_client;
	void            *arg;
	bool             paused; /* by listener_pause */
	ev_io            ready;  /* runs unless paused or retrying */
	ev_timer         retry;  /* runs while the kernel has no room */
};

static void
watch(struct listener *l)
{
	if (l->paused || ev_is_active(&l->retry))
		ev_io_stop(l->loop, &l->ready);
	else
		ev_io_start(l->loop, &l->ready);
}

/* Whatever accept(2) says here, trying again at once would say it again. */
static void
look_away(struct listener *l)
{
	log_warn("accept failed reason=\"%s\"", strerror(errno));
	ev_timer_set(&l->retry, RETRY_SEC, 0.);
	ev_timer_start(l->loop, &l->retry);
	watch(l);
}

static void
on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
	watch(w->data);
}

static int
accept_one(const struct listener *l, struct netaddr *from)
{
	struct sockaddr_storage at = { 0 };
	socklen_t               n = sizeof(at);
	uint16_t                port;
	int                     fd = accept4(l->fd, (struct sockaddr *)&at, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (!netaddr_of((struct sockaddr *)&at, from, &port))
		*from = (struct netaddr){ 0 };
	return fd;
}

static void
on_ready(struct ev_loop *loop, ev_io *w, int revents)
{
	struct listener *l = w->data;

	for (int i = 0; i < BURST && ev_is_active(&l->ready); i++) {
		struct netaddr from;
		int            fd = accept_one(l, &from);

		if (fd >= 0)
			l->on_client(l->arg, fd, &from);
		else if (errno == EAGAIN)
			return;
		else if (errno != EINTR && errno != ECONNABORTED)
			look_away(l);
	}
}

struct listener *
listener_open(struct ev_loop *loop, int fd, listener_client *on_client, void *arg, struct err *e)
{
	struct listener *l;
	int              flags = fcntl(fd, F_GETFL);

	/* a client that leaves between readiness and accept must not block us */
	if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1) {
		err_sys(e, "listener");
		return NULL;
	}
	if ((l = calloc(1, sizeof(*l))) == NULL) {
		err_set(e, E_SYS, "no memory for a listener");
		return NULL;
	}
	l->loop = loop;
	l->fd = fd;
	l->on_client = on_client;
	l->arg = arg;
	ev_io_init(&l->ready, on_ready, fd, EV_READ);
	ev_timer_init(&l->retry, on_retry, RETRY_SEC, 0.);
	l->ready.data = l->retry.data = l;
	watch(l);
	return l;
}

void
listener_pause(struct listener *l)
{
	l->paused = true;
	watch(l);
}

void
listener_resume(struct listener *l)
{
	l->paused = false;
	watch(l);
}

void
listener_close(struct listener **lp)
{
	struct listener *l = *lp;

	if (l == NULL)
		return;
	*lp = NULL;
	ev_io_stop(l->loop, &l->ready);
	ev_timer_stop(l->loop, &l->retry);
	fd_close(&l->fd); /* no shutdown: the next gateway gets the same socket */
	free(l);
}
