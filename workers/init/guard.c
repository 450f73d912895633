/*
 * Cgroups count most of what the kernel holds for a process, but not all:
 *
 *	connections that nobody has accepted, with what came over them
 *	datagrams that are being put together (MSG_MORE)
 *	TCP's buffers on cgroup v1, which may pass their limit
 *	locks on parts of files
 *
 * None of these can be refused by a number.  So we look LIM_GUARD_MS after a command was
 * started and again for as long as any process lives, and kill all of them when it is
 * too much: it is not known whose it is.
 *
 * A look must be cheap.  The number of all sockets is one small file.  Only when that many
 * could hold too much the kernel is asked about each.  Reading the locks stops all who lock
 * anything on this machine for a moment, so they are only read when the memory that
 * the machine's kernel cannot give back has grown by LIM_GUARD_SLAB.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"

#define MS_NS 1000000LL

void
guard_open(struct guard *g)
{
	*g = (struct guard){
		.used = open("/proc/self/net/sockstat", O_RDONLY | O_CLOEXEC),
		.used6 = open("/proc/self/net/sockstat6", O_RDONLY | O_CLOEXEC),
		.diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG),
		.slab = open("/proc/meminfo", O_RDONLY | O_CLOEXEC),
		.locks = open("/proc/locks", O_RDONLY | O_CLOEXEC),
		.slab_kb = UINT64_MAX,
		.wake_ns = NEVER,
	};
}

/* The number behind a word in a small file; 0 without. */
static uint64_t
number_in(int fd, const char *word)
{
	char    text[4096];
	ssize_t n = fd == -1 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	const char *at = strstr(text, word);
	return at == NULL ? 0 : strtoull(at + strlen(word), NULL, 10);
}

/* ---- sockets --------------------------------------------------------------------- */

static int
ask_sockets(int diag, int family, int protocol)
{
	struct {
		struct nlmsghdr         head;
		struct inet_diag_req_v2 body;
	} ask = {
		.head = {
			.nlmsg_len = sizeof(ask),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.body = {
			.sdiag_family = (uint8_t)family,
			.sdiag_protocol = (uint8_t)protocol,
			.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
			.idiag_states = ~0U,
		},
	};

	return send(diag, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask) ? 0 : -1;
}

/* Both ends of what is sent but not read are counted where it waits. */
static uint64_t
bytes_of(const struct nlmsghdr *h)
{
	const struct inet_diag_msg *d = NLMSG_DATA(h);
	long                        left = (long)h->nlmsg_len - (long)NLMSG_LENGTH(sizeof(*d));

	for (const struct rtattr *a = (const void *)(d + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		const uint32_t *v = RTA_DATA(a);

		if (a->rta_type == INET_DIAG_SKMEMINFO && RTA_PAYLOAD(a) > SK_MEMINFO_OPTMEM * sizeof(*v))
			return (uint64_t)v[SK_MEMINFO_RMEM_ALLOC] + v[SK_MEMINFO_WMEM_ALLOC] +
			       v[SK_MEMINFO_WMEM_QUEUED] + v[SK_MEMINFO_OPTMEM];
	}
	return 0;
}

/* The last message has the error: a kernel without this kind of dump says so only there. */
static bool
is_whole(const struct nlmsghdr *h)
{
	const int *error = NLMSG_DATA(h);

	return h->nlmsg_type == NLMSG_DONE && (h->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) || *error == 0);
}

/* All of one kind.  The kernel answers while we read: nothing is waited for.  -1: this kernel cannot tell. */
static int
sum_sockets(int diag, int family, int protocol, uint64_t *sum)
{
	static char part[32768] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t     n;

	if (ask_sockets(diag, family, protocol) == -1)
		return -1;
	while ((n = recv(diag, part, sizeof(part), 0)) > 0) {
		long left = n;

		for (const struct nlmsghdr *h = (const void *)part; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return is_whole(h) ? 0 : -1;
			*sum += bytes_of(h);
		}
	}
	return -1;
}

/* Where the kernel has no tcp_diag or udp_diag, the most that this number of sockets could hold uncounted. */
static uint64_t
socket_bytes(const struct guard *g)
{
	static const struct {
		int         family, protocol;
		const char *word;
		uint64_t    most;
	} kinds[] = {
		{ AF_INET, IPPROTO_TCP, "TCP: inuse ", LIM_GUARD_STREAM },
		{ AF_INET6, IPPROTO_TCP, "TCP6: inuse ", LIM_GUARD_STREAM },
		{ AF_INET, IPPROTO_UDP, "UDP: inuse ", LIM_GUARD_DATAGRAM },
		{ AF_INET6, IPPROTO_UDP, "UDP6: inuse ", LIM_GUARD_DATAGRAM },
	};
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint64_t sum = 0;

		if (sum_sockets(g->diag, kinds[i].family, kinds[i].protocol, &sum) == -1)
			sum = number_in(kinds[i].family == AF_INET ? g->used : g->used6, kinds[i].word) * kinds[i].most;
		all += sum;
	}
	return all;
}

static bool
has_too_many_sockets(const struct guard *g, struct err *why)
{
	const struct sockets_limit *limit = execs_sockets(g->execs);
	uint64_t                    most = limit->bytes, used = number_in(g->used, "sockets: used ");

	if (most == 0 || used * (limit->is_counted ? LIM_GUARD_SOCKET : LIM_GUARD_UNCOUNTED) <= most)
		return false;
	uint64_t bytes = socket_bytes(g);
	if (bytes <= most)
		return false;
	err_set(why, E_QUOTA, "%lu sockets of the session hold %lu MiB, and may hold %lu: all commands were ended",
	    used, bytes / MIB, most / MIB);
	return true;
}

/* ---- locks ------------------------------------------------------------------------ */

/* "1: POSIX  ADVISORY  WRITE 123 ...": those of processes outside are not shown, or have a pid that is not above 0. */
static uint64_t
count_locks(int fd, uint64_t most)
{
	AUTO_FD int own = dup(fd);
	FILE       *f = own == -1 ? NULL : fdopen(own, "r");
	char        line[256];
	uint64_t    n = 0;
	int         pid;

	if (f == NULL)
		return 0;
	fd_take(&own);
	rewind(f);
	while (n <= most && fgets(line, sizeof(line), f) != NULL)
		n += sscanf(line, "%*s %*s %*s %*s %d", &pid) == 1 && pid > 0;
	fclose(f);
	return n;
}

static bool
has_too_many_locks(struct guard *g, struct err *why)
{
	uint64_t now_kb = number_in(g->slab, "SUnreclaim:");

	if (now_kb < g->slab_kb)
		g->slab_kb = now_kb;
	if ((now_kb - g->slab_kb) * KIB < LIM_GUARD_SLAB || g->locks == -1)
		return false;
	g->slab_kb = now_kb;
	if (count_locks(g->locks, LIM_LOCKS) <= LIM_LOCKS)
		return false;
	err_set(why, E_QUOTA, "the session holds more than %d locks on files: all commands were ended", LIM_LOCKS);
	return true;
}

/* ---- turns ------------------------------------------------------------------------- */

/* Orphans are our children, too. */
static bool
anything_runs(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void
look(struct guard *g)
{
	struct err why;

	if (!has_too_many_sockets(g, &why) && !has_too_many_locks(g, &why))
		return;
	execs_kill_all(g->execs, CAUSE_MEMORY, why.text);
	kill(-1, SIGKILL); /* as pid 1: what earlier commands left in the background */
}

void
guard_turn(struct guard *g)
{
	int64_t now = now_ns();

	if (g->wake_ns == NEVER && execs_known(g->execs) > 0)
		g->wake_ns = now + LIM_GUARD_MS * MS_NS;
	if (now < g->wake_ns)
		return;
	g->wake_ns = NEVER;
	if (!anything_runs())
		return;
	look(g);
	g->wake_ns = now_ns() + LIM_GUARD_MS * MS_NS;
}

int64_t
guard_wake(const struct guard *g)
{
	return g->wake_ns;
}
