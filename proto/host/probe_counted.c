/*
 * Probes: does a memory limit count what the kernel holds for a process?  Not every kernel
 * does, and two boot options (cgroup.memory=nosocket, nokmem) turn it off.  So a child goes
 * into a cgroup, makes the kernel hold something, and the counters are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/probe_parts.h"

#define V1_SOCKETS "memory.kmem.tcp.limit_in_bytes"

/* The number behind a word at the start of a line; "" is the file's first.  -1 without. */
static long
number_in(int fd, const char *word)
{
	char    text[8192];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, word, strlen(word)) == 0)
			return strtol(line + strlen(word), NULL, 10);
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return -1;
}

/* Into a memory cgroup of our own.  1: it has no files yet, and the probe says so. */
static int
enter_cgroup(struct probe *p, char *dir, size_t size, bool *v2)
{
	char file[PATH_MAX + 96];

	if (probe_memory_cgroup(p, dir, size, v2) == -1)
		return -1;
	snprintf(file, sizeof(file), "%s/memory.%s", dir, *v2 ? "max" : "limit_in_bytes");
	if (access(file, F_OK) == -1) {
		probe_works(p, "to be enabled at %.200s", dir);
		return 1;
	}
	snprintf(file, sizeof(file), "%s/%s", dir, *v2 ? "cgroup.procs" : "tasks");
	if (probe_write_file(file, "0") == -1) {
		probe_misses(p, "", "enter %.180s: %s", dir, strerror(errno));
		return -1;
	}
	return 0;
}

static int
open_in(const char *dir, const char *file)
{
	char path[PATH_MAX + 96];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* ---- sockets ---- */

/* Datagrams to ourselves in an empty network, which nobody reads. */
static int
send_datagrams(struct probe *p)
{
	static const char  block[32768];
	struct ifreq       lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t          n = sizeof(at);
	int                fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); /* held to our end */

	if (fd == -1 || ioctl(fd, SIOCSIFFLAGS, &lo) == -1 || bind(fd, (struct sockaddr *)&at, n) == -1 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) == -1) {
		probe_misses(p, "", "a datagram socket: %s", strerror(errno));
		return -1;
	}
	for (int i = 0; i < 3; i++)
		(void)!sendto(fd, block, sizeof(block), 0, (struct sockaddr *)&at, n);
	return 0;
}

void
try_sockets_counted(struct probe *p, NO_ARG)
{
	char dir[PATH_MAX + 64], file[PATH_MAX + 96];
	bool v2;

	if (enter_cgroup(p, dir, sizeof(dir), &v2) != 0)
		return;
	AUTO_FD int counter = open_in(dir, v2 ? "memory.stat" : "memory.kmem.tcp.usage_in_bytes");
	snprintf(file, sizeof(file), "%s/" V1_SOCKETS, dir);
	if (counter == -1 || (!v2 && probe_write_file(file, "8388608") == -1)) {
		probe_misses(p, "use a kernel with CONFIG_MEMCG and, for cgroup v1, CONFIG_MEMCG_V1", "%s: %s",
		    v2 ? "memory.stat" : V1_SOCKETS, strerror(errno));
		return;
	}
	if (probe_enter(p, CLONE_NEWNET) == -1 || send_datagrams(p) == -1)
		return;
	if (number_in(counter, v2 ? "sock " : "") > 0)
		probe_works(p, "cgroup %s", v2 ? "v2" : "v1");
	else
		probe_misses(p, "boot without cgroup.memory=nosocket", "the kernel does not count buffers of sockets");
}

/* ---- the rest of the kernel's memory ---- */

void
try_kernel_counted(struct probe *p, NO_ARG)
{
	enum { PIPES = 16, FULL = 64 << 10 };
	static const char block[FULL];
	char              dir[PATH_MAX + 64];
	int               ends[2];
	bool              v2;

	if (enter_cgroup(p, dir, sizeof(dir), &v2) != 0)
		return;
	AUTO_FD int counter = open_in(dir, v2 ? "memory.current" : "memory.usage_in_bytes");
	long        before = number_in(counter, ""), held = 0;
	for (int i = 0; i < PIPES && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0; i++) {
		ssize_t n = write(ends[1], block, sizeof(block));

		held += n > 0 ? n : 0;
	}
	if (held == 0)
		probe_misses(p, "", "a pipe cannot be filled: %s", strerror(errno));
	else if (number_in(counter, "") - before >= held / 2)
		probe_works(p, "cgroup %s", v2 ? "v2" : "v1");
	else
		probe_misses(p, "boot without cgroup.memory=nokmem", "the kernel does not count its own memory");
}
