#include "base/stdfds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

static _Noreturn void
give_up(const char *what)
{
	dprintf(STDERR_FILENO, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	_exit(1);
}

/* ---- 0, 1 and 2 ---- */

/* The lowest free number is the one that is missing, because those below it are open by now. */
static void
fill(const int modes[3])
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			continue;
		int null = open("/dev/null", modes[fd]);
		if (null == -1)
			null = open("/", O_PATH | O_DIRECTORY); /* a root without /dev: reads and writes fail */
		if (null != fd)
			give_up("cannot open /dev/null in place of a closed standard stream");
	}
}

void
stdfds_open(void)
{
	fill((const int[3]){ O_RDWR, O_RDWR, O_RDWR });
}

void
stdfds_open_unusable(void)
{
	fill((const int[3]){ O_WRONLY, O_RDONLY, O_RDONLY });
}

/* ---- all others ---- */

static void
end_one(int fd, unsigned flags)
{
	if (flags == CLOSE_RANGE_CLOEXEC)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	else
		close(fd);
}

/* For kernels before 5.9, or 5.11 for the flag, and for filters that do not know the call. */
static void
end_listed(unsigned first, unsigned last, unsigned flags)
{
	DIR           *d = opendir("/proc/self/fd");
	struct dirent *one;

	if (d == NULL)
		give_up("close_range does not work here, and /proc/self/fd cannot be read");
	while ((one = readdir(d)) != NULL) {
		unsigned long fd = strtoul(one->d_name, NULL, 10);

		if (one->d_name[0] != '.' && fd >= first && fd <= last && (int)fd != dirfd(d))
			end_one((int)fd, flags);
	}
	closedir(d);
}

static void
end_range(unsigned first, unsigned last, unsigned flags)
{
	if (first <= last && syscall(SYS_close_range, first, last, flags) == -1)
		end_listed(first, last, flags);
}

/* The lowest of them that is not below `from`; ~0U: none. */
static unsigned
next_kept(const int *keep, size_t n, unsigned from)
{
	unsigned least = ~0U;

	for (size_t i = 0; i < n; i++)
		if (keep[i] > STDERR_FILENO && (unsigned)keep[i] >= from && (unsigned)keep[i] < least)
			least = (unsigned)keep[i];
	return least;
}

void
stdfds_close_others(const int *keep, size_t n)
{
	unsigned from = STDERR_FILENO + 1, kept;

	while ((kept = next_kept(keep, n, from)) != ~0U) {
		if (kept > from)
			end_range(from, kept - 1, 0);
		from = kept + 1;
	}
	end_range(from, ~0U, 0);
}

void
stdfds_keep_from_children(void)
{
	end_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

uint64_t
stdfds_raise_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == -1)
		return 0;
	r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
	return getrlimit(RLIMIT_NOFILE, &r) == -1 ? 0 : r.rlim_cur;
}
