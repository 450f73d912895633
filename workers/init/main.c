/*
 * box-init: pid 1 of a sandbox.  Starts commands, keeps their output, reaps, and
 * outlives every master; when no master comes back in time it ends, and the kernel
 * ends all others with it.
 *
 *	box-init cgroup|mark ORPHAN_MS [NAME=NUMBER]...
 *		how commands are identified; how long to wait for a master; and
 *		nofile     descriptors of one process of a command
 *		fsize_mb   size of one file of a command
 *		landlock   1: restrict ourselves where the kernel can
 *		oom        descriptor of our own oom_score_adj
 *		slots      descriptor of the cgroup directory that commands' cgroups are in
 *		net        first of three descriptors of a network that is on, see egress_open
 *		hold       descriptor that ends with us, and somebody else with it
 *		each 0 without
 *
 *	fd 0 1 2  /dev/null
 *	fd 3      bound socket; we call listen(), so that SO_PEERCRED names us to
 *	          whoever connects
 *	fd 4      the first master's channel
 *	fd 5      seccomp program for commands, as struct sock_filter entries
 *
 * One thread, one loop.  Per turn: what is ready, then deaths, then deadlines, then
 * messages for the master.  Nothing waits but the loop, and vfork until its execve.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/stdfds.h"
#include "confine.h"
#include "execs.h"
#include "guard.h"
#include "landlock.h"
#include "rlimits.h"
#include "master.h"
#include "netlinks.h"
#include "wire/chan.h"

enum { FD_LISTENER = 3, FD_MASTER = 4, FD_FILTER = 5, BACKLOG = 8 };

#define REST_NS 1000000000LL /* without a command: then memory goes back */

struct options {
	bool     marks;
	int64_t  orphan_ns;
	uint64_t nofile, fsize_mb, landlock, oom, slots, net, hold;
};

struct boxd {
	struct source   deaths; /* signalfd; owned */
	struct loop     loop;
	struct spawner  spawner;
	struct execs   *execs;
	struct master  *master;
	struct netlinks netlinks;
	struct guard    guard;
	int64_t         rest_ns; /* when to give memory back; NEVER: done */
};

static int
parse_word(const char *word, struct options *o, struct err *e)
{
	const struct {
		const char *name;
		uint64_t   *to;
	} v[] = {
		{ "nofile=", &o->nofile },
		{ "fsize_mb=", &o->fsize_mb },
		{ "landlock=", &o->landlock },
		{ "oom=", &o->oom },
		{ "slots=", &o->slots },
		{ "net=", &o->net },
		{ "hold=", &o->hold },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		if (strncmp(word, v[i].name, strlen(v[i].name)) == 0) {
			*v[i].to = strtoull(word + strlen(v[i].name), NULL, 10);
			return 0;
		}
	return err_set(e, E_INVALID, "'%s' is no option of box-init", word);
}

static int
parse(int argc, char **argv, struct options *o, struct err *e)
{
	char *end;

	if (argc < 3)
		return err_set(e, E_INVALID, "usage: box-init cgroup|mark ORPHAN_MS [NAME=NUMBER]...");
	for (int i = 3; i < argc; i++)
		if (parse_word(argv[i], o, e) == -1)
			return -1;
	o->marks = strcmp(argv[1], "mark") == 0;
	if (!o->marks && strcmp(argv[1], "cgroup") != 0)
		return err_set(e, E_INVALID, "'%s' should be cgroup or mark", argv[1]);
	errno = 0;
	unsigned long long ms = strtoull(argv[2], &end, 10);
	if (errno != 0 || end == argv[2] || *end != '\0' || ms > LIM_TIMEOUT_MS)
		return err_set(e, E_INVALID, "'%s' should be milliseconds", argv[2]);
	o->orphan_ns = (int64_t)ms * 1000000;
	return 0;
}

/* What the worker placed for us stays open, and nothing else does. */
static void
close_others(const struct options *o)
{
	const int keep[] = { FD_LISTENER, FD_MASTER, FD_FILTER, (int)o->oom, (int)o->slots, (int)o->net,
		(int)o->net + 1, (int)o->net + 2, (int)o->hold };

	stdfds_close_others(keep, sizeof(keep) / sizeof(*keep));
}

/* They came through an exec, so they are not close-on-exec yet. */
static int
own_descriptors(const struct options *o, struct err *e)
{
	const int fds[] = { FD_LISTENER, FD_MASTER, FD_FILTER, (int)o->oom, (int)o->slots, (int)o->hold };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] != 0 && fcntl(fds[i], F_SETFD, FD_CLOEXEC) == -1)
			return err_sys(e, "descriptor %d", fds[i]);
	if (fcntl(FD_LISTENER, F_SETFL, O_NONBLOCK) == -1 || listen(FD_LISTENER, BACKLOG) == -1)
		return err_sys(e, "listen");
	return 0;
}

/* The last of them may be missing: a kernel without a log of packets. */
static struct net_sockets
own_network(const struct options *o)
{
	int fds[3] = { -1, -1, -1 };

	for (int i = 0; o->net > 0 && i < 3; i++)
		if (fcntl((int)o->net + i, F_SETFD, FD_CLOEXEC) == 0)
			fds[i] = (int)o->net + i;
	return (struct net_sockets){ fds[0], fds[1], fds[2] };
}

static void
on_death(struct source *s, uint32_t events)
{
	struct boxd            *h = (struct boxd *)s; /* its first member */
	struct signalfd_siginfo which;

	if (read(s->fd, &which, sizeof(which)) > 0)
		execs_child_signal(h->execs);
}

static int
watch_deaths(struct boxd *h, struct err *e)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	h->deaths = (struct source){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_death };
	if (h->deaths.fd == -1)
		return err_sys(e, "signalfd");
	return loop_watch(&h->loop, &h->deaths, EPOLLIN, e);
}

/* There are thousands of us: large blocks go straight back, and the heap is not padded. */
static void
be_frugal(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
	mallopt(M_TOP_PAD, 16 * 1024);
}

static int
build(struct boxd *h, const struct options *o, struct err *e)
{
	struct net_sockets kept = own_network(o); /* before anything else is opened */

	be_frugal();
	if (own_descriptors(o, e) == -1 || loop_open(&h->loop, e) == -1)
		return -1;
	if (spawner_init(&h->spawner, FD_FILTER, (int)o->oom, e) == -1)
		return -1;
	guard_open(&h->guard);
	netlinks_open(&h->netlinks);
	limits_of_commands(h->spawner.limits, o->nofile, o->fsize_mb);
	if ((o->landlock && landlock_confine((int)o->slots, e) == -1) || confine(o->marks, e) == -1)
		return -1;
	if (o->slots > 0)
		close((int)o->slots);
	if (netlinks_guard(&h->netlinks, &h->loop, e) == -1)
		return -1;
	/* with marks we make a namespace for each command, which the filter refuses */
	if (!o->marks && spawner_inherit_filter(&h->spawner, e) == -1)
		return -1;
	close(FD_FILTER);
	if (watch_deaths(h, e) == -1)
		return -1;
	if ((h->execs = execs_open(&h->loop, &h->spawner, o->marks, e)) == NULL)
		return -1;
	h->guard.execs = h->execs;
	h->master = master_open(&h->loop, h->execs, FD_LISTENER, FD_MASTER, &kept, o->orphan_ns, e);
	if (h->master == NULL)
		return -1;
	return master_greet(h->master, e);
}

/* At rest we hold a few KiB: after a second without commands the rest goes back. */
static void
rest_when_idle(struct boxd *h)
{
	if (execs_known(h->execs) > 0) {
		h->rest_ns = 0; /* a time to rest must be set once they are gone */
	} else if (h->rest_ns == 0) {
		h->rest_ns = now_ns() + REST_NS;
	} else if (h->rest_ns != NEVER && now_ns() >= h->rest_ns) {
		master_rest(h->master);
		malloc_trim(0);
		h->rest_ns = NEVER;
	}
}

static int64_t
next_wake(const struct boxd *h)
{
	int64_t a = execs_wake(h->execs), b = master_wake(h->master);
	int64_t c = h->rest_ns > 0 ? h->rest_ns : NEVER, d = guard_wake(&h->guard);

	if (b < a)
		a = b;
	if (d < a)
		a = d;
	return c < a ? c : a;
}

static void
init_run(struct boxd *h)
{
	while (!master_is_missing(h->master)) {
		loop_turn(&h->loop, next_wake(h));
		execs_turn(h->execs);
		guard_turn(&h->guard);
		master_flush(h->master);
		rest_when_idle(h);
	}
}

static int
init_fail(const struct err *why)
{
	struct msg_init_failed body = { .reason = why->text, .code = "" };
	struct packet          p = { 0 };
	struct err             e;

	if (msg_encode(&p, MSG_INIT_FAILED, 0, 0, &body, &e) == 0)
		chan_send(FD_MASTER, &p, &e);
	packet_clear(&p);
	return 1;
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };
	struct boxd    h = { 0 };
	struct err     e;

	stdfds_open();
	if (parse(argc, argv, &o, &e) == -1)
		return init_fail(&e);
	close_others(&o);
	if (build(&h, &o, &e) == -1)
		return init_fail(&e);
	init_run(&h);
	return 0;
}
