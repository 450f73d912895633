/* What a command has been given can be given up, not enlarged. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

/* The limits as the kernel has them: what a call answers is not the point. */
static void
limits_now(char *out, size_t size)
{
	slurp("/proc/self/limits", out, size);
}

static void
raised(struct report *r, const void *arg)
{
	char     before[4096], after[4096];
	unsigned tried = 0;

	limits_now(before, sizeof(before));
	for (int what = 0; what < RLIM_NLIMITS; what++) {
		struct rlimit now, more;

		if (prlimit(0, what, NULL, &now) == -1 || now.rlim_max == RLIM_INFINITY)
			continue;
		tried++;
		more = (struct rlimit){ now.rlim_cur, now.rlim_max + 1 };
		long one_more = prlimit(0, what, &more, NULL);
		more = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
		long all = prlimit(0, what, &more, NULL);
		limits_now(after, sizeof(after));
		if (strcmp(before, after) != 0)
			works(r, "limit %d was raised above %lu", what, (unsigned long)now.rlim_max);
		else if (one_more == -1 && all == -1)
			failed(r, -1, "raise limit %d", what);
	}
	if (tried == 0)
		works(r, "no limit is finite");
}

static void
cores(struct report *r, const void *arg)
{
	struct rlimit now = { 0 }, more = { RLIM_INFINITY, RLIM_INFINITY };

	(void)!prlimit(0, RLIMIT_CORE, &more, NULL);
	(void)!setrlimit(RLIMIT_CORE, &more);
	getrlimit(RLIMIT_CORE, &now);
	if (now.rlim_max > 1)
		works(r, "a core dump may have %lu bytes, and the host's handler is run for it",
		    (unsigned long)now.rlim_max);
	else
		holds(r, "no core dump, so the host's handler is never run");
}

static void
nicer(struct report *r, const void *arg)
{
	int now = getpriority(PRIO_PROCESS, 0);

	failed(r, setpriority(PRIO_PROCESS, 0, now - 1), "a better priority");
	failed(r, setpriority(PRIO_PROCESS, 0, -20), "the best priority");
	failed(r, setpriority(PRIO_USER, 0, -20), "the best priority for the user");
}

static void
real_time(struct report *r, const void *arg)
{
	struct sched_param one = { .sched_priority = 1 };
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t  nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} deadline = {
		.size = sizeof(deadline), .policy = 6, .runtime = 1000000, .deadline = 10000000, .period = 10000000
	};

	failed(r, sched_setscheduler(0, SCHED_FIFO, &one), "SCHED_FIFO");
	failed(r, sched_setscheduler(0, SCHED_RR, &one), "SCHED_RR");
	failed(r, syscall(SYS_sched_setattr, 0, &deadline, 0), "SCHED_DEADLINE");
	failed(r, syscall(SYS_ioprio_set, 1, 0, 1 << 13), "real-time input and output");
}

static void
oom_score(struct report *r, const void *arg)
{
	static const char *const lower[] = { "-1000", "-17", "-1", "0" };
	char                     before[32], after[32];

	slurp("/proc/self/oom_score_adj", before, sizeof(before));
	for (size_t i = 0; i < COUNT(lower); i++) {
		int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
		failed(r, fd == -1 ? -1 : write(fd, lower[i], strlen(lower[i])), "oom_score_adj %s", lower[i]);
		if (fd != -1)
			close(fd);
	}
	slurp("/proc/self/oom_score_adj", after, sizeof(after));
	if (atoi(after) < atoi(before))
		works(r, "oom_score_adj is %d, from %d", atoi(after), atoi(before));
}

/* More locked memory than the limit says. */
static void
locked_memory(struct report *r, const void *arg)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_MEMLOCK, &now) == -1 || now.rlim_cur > 1UL << 30) {
		works(r, "locked memory has no limit");
		return;
	}
	size_t size = now.rlim_cur + (1 << 20);
	void  *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	failed(r, p == MAP_FAILED ? -1 : mlock(p, size), "mlock %zu bytes", size);
	failed(r,
	    mlockall(MCL_FUTURE) == 0
		? (mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0)
		: -1,
	    "mlockall");
}

static void
large_pipe(struct report *r, const void *arg)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		failed(r, -1, "pipe");
	else
		failed(r, fcntl(ends[1], F_SETPIPE_SZ, 64 << 20), "a pipe of 64 MiB");
}

static void
huge_pages(struct report *r, const void *arg)
{
	void *p = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	failed(r, p == MAP_FAILED ? -1 : 0, "a huge page of the host's pool");
}

/* The file system's reserve is root's; a tmpfs has none, so its own size must end a file. */
static void
tmp_size(struct report *r, const void *arg)
{
	const off_t size = (off_t)1 << 36;
	int         fd = open(scratch_file("large"), O_WRONLY | O_CLOEXEC);

	failed(r, fallocate(fd, 0, 0, size), "allocate 64 GiB in /tmp");
	close(fd);
}

/* A quota by project counts what carries its number: a file that loses it is free. */
static void
project(struct report *r, const void *arg)
{
	static const char *const dirs[] = { "/workspace", "/tmp", "/home" };
	struct fsxattr           attr = { 0 };

	for (size_t i = 0; i < COUNT(dirs); i++) {
		int fd = open(dirs[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (ioctl(fd, FS_IOC_FSGETXATTR, &attr) == -1)
			memset(&attr, 0, sizeof(attr));
		attr.fsx_projid++;
		attr.fsx_xflags ^= FS_XFLAG_PROJINHERIT;
		failed(r, ioctl(fd, FS_IOC_FSSETXATTR, &attr), "another project for %s", dirs[i]);
		close(fd);
	}
}

/* ---- bytes where a count of files would not see them ---- */

static int
open_plain(void)
{
	return open("/workspace/attack-bytes", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* A length of a terabyte costs nothing; the blocks in it do. */
static int
open_sparse(void)
{
	int fd = open_plain();

	return fd != -1 && ftruncate(fd, (off_t)1 << 40) == 0 ? fd : -1;
}

static int
open_unlinked(void)
{
	int fd = open_plain();

	unlink("/workspace/attack-bytes");
	return fd;
}

static int
open_nameless(void)
{
	return open("/workspace", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Every name is one more file to who counts names, and none to who counts blocks. */
static int
open_linked(void)
{
	char path[64];
	int  fd = open_plain();

	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/workspace/attack-link-%d", i);
		(void)!link("/workspace/attack-bytes", path);
	}
	return fd;
}

static void
remove_bytes(void)
{
	char path[64];

	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/workspace/attack-link-%d", i);
		unlink(path);
	}
	unlink("/workspace/attack-bytes");
}

/* Blocks with gaps between them, until the file system says no: were there more than it has? */
static void
hidden_bytes(struct report *r, const void *arg)
{
	enum { BLOCK = 64 << 10, GAP = 64 << 10, MOST = 256 << 20 };
	static const char block[BLOCK] = { 1 };
	int (*const *open_file)(void) = arg;
	struct statvfs fs;
	unsigned long  got = 0;

	if (statvfs("/workspace", &fs) == -1 || fs.f_blocks * fs.f_frsize > MOST) {
		skips(r, "the workspace is not bounded by its file system, or is too large to fill");
		return;
	}
	int fd = (*open_file)();
	while (fd != -1 && got <= MOST && pwrite(fd, block, BLOCK, (off_t)(got / BLOCK) * (BLOCK + GAP)) == BLOCK)
		got += BLOCK;
	int error = errno;
	remove_bytes();
	close(fd);
	if (got > fs.f_blocks * fs.f_frsize)
		works(r, "%lu bytes are in a workspace of %lu", got, (unsigned long)(fs.f_blocks * fs.f_frsize));
	else
		holds(r, "%lu bytes of %lu, then %s", got, (unsigned long)(fs.f_blocks * fs.f_frsize),
		    strerrorname_np(error));
}

static int (*const sparse)(void) = open_sparse, (*const unlinked)(void) = open_unlinked,
		   (*const nameless)(void) = open_nameless, (*const linked)(void) = open_linked;

const struct attack limit_attacks[] = {
	{ "limits.raised", "more of everything that a limit bounds", INSIDE, raised, NULL },
	{ "limits.core", "the host's core handler, as root, fed by the attacker", INSIDE, cores, NULL },
	{ "limits.nice", "processor time of others", INSIDE, nicer, NULL },
	{ "limits.real-time", "the processor, before everybody else", INSIDE, real_time, NULL },
	{ "limits.oom-score", "others are ended when memory is short", INSIDE, oom_score, NULL },
	{ "limits.locked-memory", "memory that cannot be taken back", INSIDE, locked_memory, NULL },
	{ "limits.pipe-size", "the kernel's memory in pipes", INSIDE, large_pipe, NULL },
	{ "limits.huge-pages", "memory that the sandbox's limit does not count", INSIDE, huge_pages, NULL },
	{ "limits.project", "a disk quota no longer counts", INSIDE, project, NULL },
	{ "limits.sparse-file", "disk beyond the quota, in a file with holes", INSIDE, hidden_bytes, &sparse },
	{ "limits.unlinked-file", "disk beyond the quota, in a file without a name", INSIDE, hidden_bytes, &unlinked },
	{ "limits.nameless-file", "disk beyond the quota, in a file that never had one", INSIDE, hidden_bytes,
	    &nameless },
	{ "limits.linked-file", "disk beyond the quota, in a file with many names", INSIDE, hidden_bytes, &linked },
	{ "limits.tmp-size", "the host's memory in files", INSIDE, tmp_size, NULL },
	{ .name = NULL },
};
