#include "host/helper.h"

#include <unistd.h>

#include "base/log.h"

static void
stop(struct helper *h, int status)
{
	h->status = status;
	link_pause(h->link); /* what has arrived behind this must not start us again */
	ev_break(h->loop, EVBREAK_ALL);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct helper *h = arg;
	struct err     e;

	if (h->begun) {
		h->take(h->arg, m);
		return;
	}
	if (m->type != h->start)
		err_set(&e, E_PROTO, "expected %s, got %s", msg_name(h->start), msg_name(m->type));
	else if (h->begin(h->arg, m, &e) == 0) {
		h->begun = true;
		log_debug("ready pid=%d", getpid());
		return;
	}
	log_error("cannot start: %s", e.text);
	stop(h, 1);
}

static void
on_gone(void *arg, const struct err *why)
{
	if (why->code != E_NONE)
		log_error("link to the supervisor broke: %s", why->text);
	else
		log_debug("the supervisor is gone");
	stop(arg, why->code != E_NONE);
}

void
helper_run(struct helper *h)
{
	static const struct link_ops ops = { .on_msg = on_msg, .on_gone = on_gone };
	struct err                   e;

	/* epoll and no timerfd: confined, it needs no descriptor but its set */
	h->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);
	if (h->loop == NULL)
		err_set(&e, E_SYS, "no event loop on epoll");
	else if ((h->link = link_open(h->loop, CHANNEL_FD, FROM_SUPERVISOR, &ops, h, &e)) != NULL) {
		ev_run(h->loop, 0);
		return;
	}
	log_error("cannot start: %s", e.text);
	h->status = 1;
}

void
helper_close(struct helper *h)
{
	link_close(&h->link);
	if (h->loop != NULL)
		ev_loop_destroy(h->loop);
}
