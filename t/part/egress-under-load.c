/* Many connections, large ones, slow ones, greedy sessions, and its sudden death. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "egressbox.h"
#include "tap.h"

enum { ECHO = 7, SINK = 9, MANY = 1000, CONNECTS = 10000, MIB_BYTES = 1 << 20 };

#define BULK (1UL << 30)

/* A sanitizer keeps what was freed for a while. */
#ifdef __SANITIZE_ADDRESS__
#define SLACK (512UL * MIB_BYTES)
#else
#define SLACK ((size_t)MIB_BYTES)
#endif

static struct egressbox box;
static struct sandbox   inside;
static char             some[MIB_BYTES];

/* How many of n connections, one after the other, bring an answer. */
static int
connect_often(const char *address, int n)
{
	int good = 0;

	for (int i = 0; i < n; i++) {
		int c = inside_connect(&inside, address, ECHO);

		if (c == -1)
			continue;
		put(c, "hi");
		good += got(c, "hi");
		close(c);
	}
	return good;
}

static void
await_none_open(void)
{
	while (egressbox_look(&box, &inside, false)->open > 0)
		;
}

static void
test_connects(void)
{
	connect_often(SERVER, 200);
	await_none_open();
	size_t before = egressbox_descriptors(&box), memory = egressbox_memory(&box);

	cmp_ok(connect_often(SERVER, CONNECTS), "==", CONNECTS, "ten thousand connections are all made");
	await_none_open();
	cmp_ok(egressbox_look(&box, &inside, false)->total, "==", CONNECTS + 200, "and counted");
	cmp_ok(egressbox_descriptors(&box), "==", before, "no descriptor is left of them");
	cmp_ok(egressbox_memory(&box), "<=", memory + SLACK, "and no memory");
}

/* Everything that it is sent comes back. */
static void
write_bulk(int fd)
{
	for (size_t left = BULK; left > 0;) {
		ssize_t n = write(fd, some, left < sizeof(some) ? left : sizeof(some));

		if (n <= 0)
			return;
		left -= (size_t)n;
	}
	shutdown(fd, SHUT_WR);
}

static void
test_bulk(void)
{
	int      c = inside_connect(&inside, SERVER, ECHO);
	pid_t    writer = helper(write_bulk, c);
	size_t   memory = egressbox_memory(&box), most = 0;
	uint64_t n = 0, looked = 0;
	ssize_t  r;

	while ((r = read(c, some, sizeof(some))) > 0) {
		n += (uint64_t)r;
		if (n - looked < 16 * MIB_BYTES)
			continue;
		size_t now = egressbox_memory(&box);
		most = now > most ? now : most;
		looked = n;
	}
	cmp_ok(n, "==", BULK, "a gigabyte there and back");
	cmp_ok(most, "<=", memory + SLACK, "takes no memory");
	waitpid(writer, NULL, 0);
	close(c);
	await_none_open();
	const struct msg_net_info *i = egressbox_look(&box, &inside, false);
	cmp_ok(i->sent_bytes, ">=", BULK, "it is counted out");
	cmp_ok(i->received_bytes, ">=", BULK, "and in");
}

/* As much as they take; how much that was. */
static size_t
fill(int *fds, int n)
{
	size_t total = 0;

	for (int quiet = 0; quiet < 20; quiet++) {
		for (int i = 0; i < n; i++) {
			ssize_t r = send(fds[i], some, sizeof(some), MSG_DONTWAIT | MSG_NOSIGNAL);

			if (r > 0) {
				total += (size_t)r;
				quiet = 0;
			}
		}
		poll(NULL, 0, 10);
	}
	return total;
}

/* Nobody reads what is sent: it stays in the kernel, and it all arrives when somebody does. */
static void
test_slow_readers(void)
{
	enum { READERS = 16 };
	int    clients[READERS], servers[READERS], listener = net_listen(90);
	size_t memory = egressbox_memory(&box), arrived = 0;

	for (int i = 0; i < READERS; i++) {
		clients[i] = inside_connect(&inside, SERVER, 90);
		servers[i] = net_accept(listener, NULL);
	}
	size_t descriptors = egressbox_descriptors(&box), sent = fill(servers, READERS);
	cmp_ok(sent, ">", 0, "servers send to clients that do not read (%zu KiB)", sent / 1024);
	cmp_ok(egressbox_memory(&box), "<=", memory + SLACK, "which costs no memory");
	cmp_ok(egressbox_descriptors(&box), "==", descriptors, "and no descriptors");
	cmp_ok(connect_often(SERVER, 10), "==", 10, "others go on");
	for (int i = 0; i < READERS; i++) {
		shutdown(servers[i], SHUT_WR);
		for (ssize_t n; (n = read(clients[i], some, sizeof(some))) > 0;)
			arrived += (size_t)n;
		close(clients[i]);
		close(servers[i]);
	}
	cmp_ok(arrived, "==", sent, "every byte arrives when they do");
	close(listener);
	await_none_open();
}

static void
open_many(int *clients, int *servers, int listener)
{
	for (int i = 0; i < MANY; i++) {
		clients[i] = inside_connect(&inside, SERVER, 91);
		servers[i] = net_accept(listener, NULL);
	}
}

static int
count_resets(int *fds)
{
	int n = 0;

	for (int i = 0; i < MANY; i++) {
		n += strcmp(outcome(fds[i]), "reset") == 0;
		close(fds[i]);
	}
	return n;
}

static void
test_cut(void)
{
	static int clients[MANY], servers[MANY];
	int        listener = net_listen(91);

	open_many(clients, servers, listener);
	cmp_ok(egressbox_look(&box, &inside, true)->flows.n, "==", LIM_NET_FLOWS, "of a thousand the oldest are told");
	egressbox_close(&box, &inside);
	cmp_ok(count_resets(clients), "==", MANY, "at the end of their session a thousand are reset");
	cmp_ok(count_resets(servers), "==", MANY, "on both sides");
	egressbox_open(&box, &inside, NULL, NULL);
	open_many(clients, servers, listener);
	int late = inside_connect(&inside, SERVER, 91);
	egressbox_end(&box, true);
	cmp_ok(count_resets(clients), "==", MANY, "when it is killed a thousand are reset");
	cmp_ok(count_resets(servers), "==", MANY, "on both sides");
	close(late);
	close(listener);
}

/* ---- two sessions ------------------------------------------------------------------- */

enum { GREEDY = 32 };

static uint64_t *moved; /* of the modest one; shared with its helper */

static void
send_greedily(int fd)
{
	int fds[GREEDY];

	for (int i = 0; i < GREEDY; i++) {
		fds[i] = inside_connect(&inside, SERVER, SINK);
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	for (;;) {
		struct pollfd p[GREEDY];

		for (int i = 0; i < GREEDY; i++)
			p[i] = (struct pollfd){ .fd = fds[i], .events = POLLOUT };
		poll(p, GREEDY, -1);
		for (int i = 0; i < GREEDY; i++)
			if (p[i].revents)
				(void)!write(fds[i], some, sizeof(some));
	}
}

static void
send_modestly(int fd)
{
	for (ssize_t n; (n = write(fd, some, sizeof(some))) > 0;)
		*moved += (uint64_t)n;
}

static void
test_fairness(void)
{
	struct sandbox other;
	int            busy = 0;

	sandbox_make(&other, 43);
	egressbox_open(&box, &other, NULL, NULL);
	pid_t greedy = helper(send_greedily, -1);
	while (egressbox_look(&box, &inside, false)->open < GREEDY || busy++ < 100)
		;
	int      c = inside_connect(&other, SERVER, SINK);
	uint64_t before = egressbox_look(&box, &inside, false)->sent_bytes;
	pid_t    modest = helper(send_modestly, c);
	while (*(volatile uint64_t *)moved < 128 * (uint64_t)MIB_BYTES)
		poll(NULL, 0, 1);
	uint64_t more = egressbox_look(&box, &inside, false)->sent_bytes - before;
	helper_end(modest);
	helper_end(greedy);
	cmp_ok(more, "<", 12 * 128 * (uint64_t)MIB_BYTES,
	    "a session with %d busy connections gets not so many times as much (%lu MiB against 128)", GREEDY,
	    more / MIB_BYTES);
	close(c);
	sandbox_free(&other);
}

int
main(void)
{
	struct rlimit           r;
	struct msg_egress_start m;

	if (getrlimit(RLIMIT_NOFILE, &r) == -1 || r.rlim_max < 3 * MANY)
		plan(SKIP_ALL, "it needs more descriptors than this user may have");
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	world_begin();
	moved = mmap(NULL, sizeof(*moved), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t echo = helper(serve_echo, net_listen(ECHO)), sink = helper(serve_sink, net_listen(SINK));
	msg_defaults(MSG_EGRESS_START, &m);
	m.connections = 2 * MANY;
	m.dns_bytes = 1 << 20;
	egressbox_start(&box, "", &m);
	sandbox_make(&inside, 42);
	egressbox_open(&box, &inside, NULL, NULL);
	test_connects();
	test_bulk();
	test_slow_readers();
	test_fairness();
	await_none_open();
	test_cut();
	sandbox_free(&inside);
	helper_end(echo);
	helper_end(sink);
	done_testing();
}
