/*
 * box-store: skills, and the directories of LangBot's workspaces.
 *
 *	fd 3	SEQPACKET channel to the supervisor; the only descriptor it is born with
 *
 * The supervisor's first message is STORE_START with the whole configuration.  The store finds the
 * directories, makes what is missing, becomes the user who owns the skills, locks itself in, has swept what a
 * dead one has left, and says STORE_READY; or STORE_FAILED, and ends.  From then on it serves requests, each in a
 * process of its own.  Another configuration is another store.  When the link ends it exits.
 */
#include <ev.h>
#include <signal.h>
#include <sodium.h>
#include <sys/stat.h>

#include "base/log.h"
#include "confine.h"
#include "fs/places.h"
#include "host/startup.h"
#include "jobs.h"
#include "wire/link.h"

struct boxd {
	struct ev_loop *loop;
	struct link    *link; /* owned */
	struct places   places;
	struct store    store;
	struct jobs    *jobs; /* owned; NULL until started */
	int             status;
};

static void
stop(struct boxd *h, int status)
{
	h->status = status;
	link_pause(h->link);
	ev_break(h->loop, EVBREAK_ALL);
}

static int
store_begin(struct boxd *h, const struct msg_store_start *m, struct err *e)
{
	if (places_open(&h->places, &h->store, m, e) == -1 || confine(&h->store, e) == -1)
		return -1;
	h->jobs = jobs_open(h->loop, h->link, CHANNEL_FD, &h->store, e);
	if (h->jobs == NULL)
		return -1;
	jobs_sweep(h->jobs);
	return link_send(h->link, MSG_STORE_READY, 0, 0, &h->store.paths, e);
}

static void
give_up(struct boxd *h, const struct err *why)
{
	struct msg_store_failed failed = { .code = err_wire_name(why->code), .reason = why->text };
	struct err              e;

	log_warn("cannot start: %s", why->text);
	if (link_send(h->link, MSG_STORE_FAILED, 0, 0, &failed, &e) == -1)
		log_error("answer: %s", e.text);
	stop(h, 1);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct boxd *h = arg;
	struct err   e = { 0 }, lost;

	if (h->jobs == NULL) {
		if (m->type != MSG_STORE_START)
			err_set(&e, E_PROTO, "expected store_start, got %s", msg_name(m->type));
		else if (store_begin(h, m->body, &e) == 0)
			return;
		give_up(h, &e);
		return;
	}
	if (jobs_deliver(h->jobs, m, &e) == 0)
		return;
	if (m->envelope != ENV_REQUEST)
		log_warn("%s: %s", msg_name(m->type), e.text);
	else if (link_fail(h->link, m->id, 0, &e, &lost) == -1)
		log_error("answer: %s", lost.text);
}

static void
on_gone(void *arg, const struct err *why)
{
	if (why->code != E_NONE)
		log_error("link to the supervisor broke: %s", why->text);
	stop(arg, why->code != E_NONE);
}

static const struct link_ops link_ops = { .on_msg = on_msg, .on_gone = on_gone };

static int
store_run(struct boxd *h, struct err *e)
{
	if (sodium_init() == -1)
		return err_set(e, E_SYS, "no random numbers");
	h->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);
	if (h->loop == NULL)
		return err_set(e, E_SYS, "no event loop on epoll");
	h->link = link_open(h->loop, CHANNEL_FD, FROM_SUPERVISOR, &link_ops, h, e);
	if (h->link == NULL)
		return -1;
	ev_run(h->loop, 0);
	return 0;
}

int
main(int argc, char **argv)
{
	struct boxd h = { .store = { .skills = -1, .workspace = -1 } };
	struct err  e;

	startup("box-store", argc, argv);
	umask(022);
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error, not an end */
	if (store_run(&h, &e) == -1) {
		log_error("cannot start: %s", e.text);
		h.status = 1;
	}
	jobs_close(&h.jobs);
	link_close(&h.link);
	if (h.loop != NULL)
		ev_loop_destroy(h.loop);
	return h.status;
}
