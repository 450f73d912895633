/*
 *	bench net down PORT MIB       MB/s that come in by one connection
 *	bench net up PORT MIB         MB/s that go out
 *	bench net connect PORT N      median microseconds from connect(2) to the first byte of the answer
 *
 * The client says in its first eight bytes how much it wants, as a number; negative: how much it will send.  The
 * server answers with a byte when it has what it was sent.
 */
#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

enum { CHUNK = 256 * 1024, MEGA = 1000 * 1000, MOST = 10000 };

static char chunk[CHUNK];

static int
set_up(const char *name, int s)
{
	struct ifreq        r = { 0 };
	struct sockaddr_in *a = (struct sockaddr_in *)&r.ifr_addr;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (strchr(name, ':') != NULL) {
		a->sin_family = AF_INET;
		a->sin_addr.s_addr = inet_addr(NET_SERVER);
		return ioctl(s, SIOCSIFADDR, &r);
	}
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	return ioctl(s, SIOCSIFFLAGS, &r);
}

bool
net_enter(char *why, size_t size)
{
	int s = -1, r = unshare(CLONE_NEWNET);

	if (r == 0)
		r = s = socket(AF_INET, SOCK_DGRAM, 0);
	if (r >= 0)
		r = set_up("lo", s) == 0 && set_up("lo:1", s) == 0 ? 0 : -1;
	if (r == -1)
		snprintf(
		    why, size, "a network namespace: %s%s", strerror(errno), errno == EPERM ? " (needs root)" : "");
	if (s >= 0)
		close(s);
	return r == 0;
}

/* ---- bytes -------------------------------------------------------------------- */

static bool
push(int fd, int64_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, chunk, n < CHUNK ? (size_t)n : CHUNK);

		if (k <= 0)
			return false;
		n -= k;
	}
	return true;
}

static bool
pull(int fd, int64_t n)
{
	while (n > 0) {
		ssize_t k = read(fd, chunk, n < CHUNK ? (size_t)n : CHUNK);

		if (k <= 0)
			return false;
		n -= k;
	}
	return true;
}

/* ---- server --------------------------------------------------------------------- */

static void
serve_one(int fd)
{
	int64_t wanted;

	if (read(fd, &wanted, sizeof(wanted)) != sizeof(wanted))
		return;
	if (wanted >= 0)
		push(fd, wanted);
	else if (pull(fd, -wanted))
		push(fd, 1);
}

static _Noreturn void
serve(int listener)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd == -1)
			_exit(1);
		serve_one(fd);
		close(fd);
	}
}

unsigned
net_serve(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(NET_SERVER) };
	socklen_t          len = sizeof(at);
	int                s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(s, (struct sockaddr *)&at, sizeof(at)) == -1 || listen(s, 128) == -1 ||
	    getsockname(s, (struct sockaddr *)&at, &len) == -1)
		return 0;
	if (fork() == 0)
		serve(s);
	close(s);
	return ntohs(at.sin_port);
}

/* ---- client ------------------------------------------------------------------------ */

static int
dial(unsigned port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int                s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = inet_addr(NET_SERVER);
	if (connect(s, (struct sockaddr *)&to, sizeof(to)) == 0)
		return s;
	close(s);
	return -1;
}

/* Microseconds; negative when it failed. */
static double
exchange(unsigned port, int64_t wanted)
{
	double start = now_us();
	int    fd = dial(port);
	bool   good = fd >= 0 && write(fd, &wanted, sizeof(wanted)) == sizeof(wanted) &&
		    (wanted >= 0 ? pull(fd, wanted) : push(fd, -wanted) && pull(fd, 1));
	double took = now_us() - start;

	if (fd >= 0)
		close(fd);
	return good ? took : -1;
}

static double
median_connect(unsigned port, long n)
{
	static double us[MOST];

	if (n > MOST)
		n = MOST;
	for (long i = 0; i < n; i++)
		if ((us[i] = exchange(port, 1)) < 0)
			return -1;
	qsort(us, (size_t)n, sizeof(*us), by_size);
	return us[n / 2];
}

int
net_client(char **argv)
{
	unsigned port = (unsigned)atoi(argv[2]);
	long     count = atol(argv[3]);
	double   result;

	if (strcmp(argv[1], "connect") == 0)
		result = median_connect(port, count);
	else {
		int64_t bytes = (int64_t)count * 1024 * 1024;
		double  us = exchange(port, strcmp(argv[1], "up") == 0 ? -bytes : bytes);

		result = us < 0 ? us : (double)bytes / us * 1e6 / MEGA;
	}
	printf("%.3f\n", result);
	return result < 0;
}
