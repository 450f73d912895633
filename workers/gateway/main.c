/*
 * box-gateway: the process that parses strangers' bytes and has nothing to steal.
 *
 *	fd 3	SEQPACKET channel to the supervisor; the only descriptor it is born with
 *
 * The supervisor's first message is GATEWAY_START with the listener in it.  The
 * gateway then confines itself, says GATEWAY_READY and accepts clients.  When
 * the link ends it exits: without a supervisor there is nobody to ask.
 *
 * The loop is made before the confinement.  libev gets epoll and no timerfd and
 * has no signal watcher, so it needs no descriptor but its epoll set.
 */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "confine.h"
#include "link.h"
#include "listener.h"
#include "log.h"
#include "rpc.h"

enum { LINK_FD = 3, SPARE_FDS = 64 };

#ifdef __SANITIZE_ADDRESS__
/* Looking for leaks at exit takes a thread and ptrace, which the filter forbids. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct gateway {
	struct ev_loop  *loop;
	struct link     *link;     /* owned */
	struct listener *listener; /* owned; NULL until started */
	struct rpc      *rpc;      /* owned; NULL until started */
	int              status;   /* of the exit */
};

static void
stop(struct gateway *g, int status)
{
	g->status = status;
	link_pause(g->link); /* what has arrived behind this must not start us again */
	ev_break(g->loop, EVBREAK_ALL);
}

static void
on_client(void *arg, int fd)
{
	struct gateway *g = arg;

	rpc_accept(g->rpc, fd);
}

static void
on_excess(void *arg, int fd)
{
	struct gateway *g = arg;

	rpc_refuse(g->rpc, fd);
}

static const struct listener_ops listener_ops = { .on_client = on_client, .on_excess = on_excess };

/* As many descriptors as we may have: one per client, and one more while it is announced. */
static void
raise_descriptors(uint64_t clients)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == -1)
		return;
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_cur < clients + SPARE_FDS)
		log_warn("max_connections=%lu but descriptors=%lu", clients, (unsigned long)r.rlim_cur);
}

static int
start(struct gateway *g, struct msg *m, struct err *e)
{
	const struct msg_gateway_start *s = m->body;
	struct confinement              walls = { .root = s->chroot, .uid = s->uid };
	struct msg_gateway_ready        ready;

	raise_descriptors(s->max_connections);
	if (confine(&walls, e) == -1)
		return err_prefix(e, "confine");
	g->listener = listener_open(g->loop, s->listener, s->max_connections, &listener_ops, g, e);
	if (g->listener == NULL)
		return -1;
	msg_take_fd(m, s->listener);
	g->rpc = rpc_open(g->loop, g->link, g->listener, s->next_conn, s->max_connections, e);
	if (g->rpc == NULL)
		return -1;
	return link_send(g->link, MSG_GATEWAY_READY, 0, 0, &ready, e);
}

static void
on_msg(void *arg, struct msg *m)
{
	struct gateway *g = arg;
	struct err      e;

	if (g->rpc != NULL) {
		rpc_deliver(g->rpc, m);
		return;
	}
	if (m->type != MSG_GATEWAY_START)
		err_set(&e, E_PROTO, "expected gateway_start, got %s", msg_name(m->type));
	else if (start(g, m, &e) == 0) {
		log_debug("ready pid=%d", getpid());
		return;
	}
	log_error("cannot start: %s", e.text);
	stop(g, 1);
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

static const struct link_ops link_ops = { .on_msg = on_msg, .on_gone = on_gone };

static int
run(struct gateway *g, struct err *e)
{
	g->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD);
	if (g->loop == NULL)
		return err_set(e, E_SYS, "no event loop on epoll");
	g->link = link_open(g->loop, LINK_FD, FROM_SUPERVISOR, &link_ops, g, e);
	if (g->link == NULL)
		return -1;
	ev_run(g->loop, 0);
	return 0;
}

static void
take_down(struct gateway *g)
{
	rpc_close(&g->rpc);
	listener_close(&g->listener);
	link_close(&g->link);
	if (g->loop != NULL)
		ev_loop_destroy(g->loop);
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
		puts("box-gateway " BOXD_VERSION);
		exit(0);
	}
	int help = argc == 2 && strcmp(argv[1], "--help") == 0;
	fputs("usage: box-gateway [--version | --help]\n"
	      "A worker of boxd(8), started by it with a channel on descriptor 3.\n",
	    help ? stdout : stderr);
	exit(help ? 0 : 2);
}

int
main(int argc, char **argv)
{
	struct gateway g = { 0 };
	struct err     e;

	options(argc, argv);
	log_init("box-gateway", level_from_env());
	if (fcntl(LINK_FD, F_GETFD) == -1) {
		log_error("no channel on descriptor %d: boxd starts this program", LINK_FD);
		return 1;
	}
	/* what we were not meant to get, nobody can take from us; kernels before 5.9 cannot do it */
	(void)syscall(SYS_close_range, LINK_FD + 1U, ~0U, 0U);
	tzset(); /* the log's first time stamp would look for the zone's file: not once we are confined */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* the terminal's; the supervisor decides when we end */
	signal(SIGHUP, SIG_IGN);
	if (run(&g, &e) == -1) {
		log_error("cannot start: %s", e.text);
		g.status = 1;
	}
	take_down(&g);
	return g.status;
}
