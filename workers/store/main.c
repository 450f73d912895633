/*
 * box-store: skills, and the directories of LangBot's workspaces.
 *
 *	fd 3	SEQPACKET channel to the supervisor; the only descriptor it is born with
 *
 * The supervisor's first message is STORE_START with the whole configuration.  The store finds the
 * directories, makes what is missing, becomes whom the skills belong to, locks itself in, sweeps what a
 * dead one has left, and says STORE_READY; or STORE_FAILED, and ends.  From then on it serves requests, each in a
 * process of its own.  Another configuration is another store.  When the link ends it exits.
 */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "confine.h"
#include "jobs.h"
#include "link.h"
#include "log.h"
#include "places.h"
#include "staging.h"

enum { LINK_FD = 3 };

#ifdef __SANITIZE_ADDRESS__
/* Looking for leaks at exit takes a thread and ptrace, which the filter forbids. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct house {
	struct ev_loop *loop;
	struct link    *link; /* owned */
	struct places   places;
	struct store    store;
	struct jobs    *jobs; /* owned; NULL until started */
	int             status;
};

static void
stop(struct house *h, int status)
{
	h->status = status;
	link_pause(h->link);
	ev_break(h->loop, EVBREAK_ALL);
}

static int
start(struct house *h, const struct msg_store_start *m, struct err *e)
{
	if (places_open(&h->places, &h->store, m, e) == -1 || confine(&h->store, e) == -1)
		return -1;
	staging_sweep(h->store.skills);
	h->jobs = jobs_open(h->loop, h->link, LINK_FD, &h->store, e);
	if (h->jobs == NULL)
		return -1;
	return link_send(h->link, MSG_STORE_READY, 0, 0, &h->store.paths, e);
}

static void
give_up(struct house *h, const struct err *why)
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
	struct house *h = arg;
	struct err    e = { 0 }, lost;

	if (h->jobs == NULL) {
		if (m->type != MSG_STORE_START)
			err_set(&e, E_PROTO, "expected store_start, got %s", msg_name(m->type));
		else if (start(h, m->body, &e) == 0)
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
run(struct house *h, struct err *e)
{
	h->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);
	if (h->loop == NULL)
		return err_set(e, E_SYS, "no event loop on epoll");
	h->link = link_open(h->loop, LINK_FD, FROM_SUPERVISOR, &link_ops, h, e);
	if (h->link == NULL)
		return -1;
	ev_run(h->loop, 0);
	return 0;
}

static enum log_level
level_from_env(void)
{
	const char *name = getenv("BOX_LOG");

	for (enum log_level l = LOG_ERROR; name != NULL && l < LOG__COUNT; l++)
		if (strcmp(name, log_level_name(l)) == 0)
			return l;
	return LOG_INFO;
}

/* Only --version and --help: everything else comes by message. */
static void
options(int argc, char **argv)
{
	if (argc == 1)
		return;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("box-store " BOXD_VERSION);
		exit(0);
	}
	int help = argc == 2 && strcmp(argv[1], "--help") == 0;
	fputs("usage: box-store [--version | --help]\n"
	      "A worker of boxd(8), started by it with a channel on descriptor 3.\n",
	    help ? stdout : stderr);
	exit(help ? 0 : 2);
}

int
main(int argc, char **argv)
{
	struct house h = { .store = { .skills = -1, .workspace = -1 } };
	struct err   e;

	options(argc, argv);
	log_init("box-store", level_from_env());
	if (fcntl(LINK_FD, F_GETFD) == -1) {
		log_error("no channel on descriptor %d: boxd starts this program", LINK_FD);
		return 1;
	}
	/* what we were not meant to get, nobody can take from us; kernels before 5.9 cannot do it */
	(void)syscall(SYS_close_range, LINK_FD + 1U, ~0U, 0U);
	tzset(); /* the log's first time stamp would look for the zone's file: not once we are confined */
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error, not an end */
	signal(SIGINT, SIG_IGN);  /* the terminal's; the supervisor decides when we end */
	signal(SIGHUP, SIG_IGN);
	if (sodium_init() == -1 || run(&h, &e) == -1) {
		log_error("cannot start");
		h.status = 1;
	}
	jobs_close(&h.jobs);
	link_close(&h.link);
	return h.status;
}
