/* What the kernel keeps for other things: files, locks, timers, queues, page tables. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <mqueue.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "hoards.h"

static const char block[60000];

static long
one_locked_file(int command)
{
	enum { LOCKS = 2000, LEAST = 190 };
	static unsigned n;
	char            name[32];

	snprintf(name, sizeof(name), "locks-%d-%u", getpid(), n++);
	int fd = open(scratch_file(name), O_RDWR | O_CLOEXEC);
	if (fd == -1)
		return -1;
	for (int k = LOCKS; k > 0; k--) { /* downwards: the kernel looks through them upwards */
		struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * k, .l_len = 1 };

		if (fcntl(fd, command, &l) == -1)
			return -1;
	}
	return (long)LOCKS * LEAST;
}

static long
one_lock(unsigned i)
{
	return one_locked_file(F_SETLK);
}

static long
one_nameless_lock(unsigned i)
{
	return one_locked_file(F_OFD_SETLK);
}

static long
one_epoll(unsigned i)
{
	enum { WATCHED = 64, LEAST = 128 };
	static int fds[WATCHED];
	int        set = epoll_create1(EPOLL_CLOEXEC);

	for (int k = 0; set != -1 && k < WATCHED; k++) {
		if (i == 0)
			fds[k] = eventfd(0, EFD_CLOEXEC);
		if (epoll_ctl(set, EPOLL_CTL_ADD, fds[k], &(struct epoll_event){ .events = EPOLLIN }) == -1)
			return -1;
	}
	return set == -1 ? -1 : (long)WATCHED * LEAST;
}

static long
one_timerfd(unsigned i)
{
	enum { LEAST = 600 };

	return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) == -1 ? -1 : LEAST;
}

static long
one_timer(unsigned i)
{
	enum { LEAST = 256 };
	struct sigevent silent = { .sigev_notify = SIGEV_NONE };
	timer_t         t;

	return timer_create(CLOCK_MONOTONIC, &silent, &t) == -1 ? -1 : LEAST;
}

static long
one_semaphores(unsigned i)
{
	enum { MANY = 32000, LEAST = 64 };

	return semget(IPC_PRIVATE, MANY, IPC_CREAT | 0600) == -1 ? -1 : (long)MANY * LEAST;
}

static long
one_messages(unsigned i)
{
	static const struct {
		long type;
		char text[8000];
	} m = { .type = 1 };
	int  q = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
	long got = 0;

	while (q != -1 && msgsnd(q, &m, sizeof(m.text), IPC_NOWAIT) == 0)
		got += (long)sizeof(m.text);
	return got == 0 ? -1 : got;
}

/* One byte of each two megabytes is read: a page of zeros, which is everybody's, and a table for it. */
static long
one_page_table(unsigned i)
{
	enum { SPAN = 2 << 20, SPANS = 512, TABLE = 4096 };
	const size_t   size = (size_t)SPAN * SPANS;
	volatile char *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	madvise((char *)p, size, MADV_NOHUGEPAGE);
	for (size_t k = 0; k < SPANS; k++)
		(void)p[k * SPAN];
	return (long)SPANS * TABLE;
}

static long
one_mapping(unsigned i)
{
	enum { LEAST = 180 };
	void *p = mmap(NULL, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED && errno == ENOMEM)
		errno = EMFILE; /* as many as one process may have */
	return p == MAP_FAILED ? -1 : LEAST;
}

static long
one_attribute(unsigned i)
{
	enum { SIZE = 50000 };
	char name[32];

	snprintf(name, sizeof(name), "attribute-%d-%u", getpid(), i);
	return setxattr(scratch_file(name), "user.hoard", block, SIZE, 0) == -1 ? -1 : SIZE;
}

static long
one_ruleset(unsigned i)
{
	enum { LEAST = 600 };
	const uint64_t attr = 1;

	return syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0) == -1 ? -1 : LEAST;
}

static long
one_memfd(unsigned i)
{
	int fd = memfd_create("hoard", MFD_CLOEXEC);

	return fd == -1 || write(fd, block, sizeof(block)) != (ssize_t)sizeof(block) ? -1 : (long)sizeof(block);
}

static long
one_pipe(unsigned i)
{
	int  ends[2];
	long got = 0, n;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1)
		return -1;
	while ((n = write(ends[1], block, sizeof(block))) > 0)
		got += n;
	return got;
}

/* Events that nobody reads; each has a name with it. */
static long
one_event_queue(unsigned i)
{
	enum { EVENTS = 2000, LEAST = 64 };
	int         set = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	const char *names[2] = { "a-name-that-is-told-with-every-event", "another-name-so-that-none-is-merged" };

	if (set == -1 || inotify_add_watch(set, scratch(), IN_OPEN | IN_CREATE) == -1)
		return -1;
	for (int k = 0; k < EVENTS; k++) {
		int fd = open(scratch_file(names[k % 2]), O_RDWR | O_CLOEXEC);

		if (fd == -1)
			return -1;
		close(fd);
	}
	return (long)EVENTS * LEAST;
}

/* Signals that wait for ever. */
static long
one_signal(unsigned i)
{
	enum { LEAST = 80 };
	sigset_t all;

	if (i == 0) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
	}
	return sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 }) == -1 ? -1 : LEAST;
}

static long
one_posix_queue(unsigned i)
{
	enum { SIZE = 8000 };
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = SIZE };
	char           name[32];
	long           got = 0;

	snprintf(name, sizeof(name), "hoard-%d-%u", getpid(), i);
	int q = (int)syscall(SYS_mq_open, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600, &attr);
	while (q != -1 && syscall(SYS_mq_timedsend, q, block, (long)SIZE, 0, NULL) == 0)
		got += SIZE;
	return q == -1 ? -1 : got;
}

/* How many names of files that are not there the machine's kernel remembers. */
static long
absent_names(void)
{
	long  all = 0, unused, age, want, absent = 0;
	FILE *f = fopen("/proc/sys/fs/dentry-state", "re");

	if (f != NULL && fscanf(f, "%ld %ld %ld %ld %ld", &all, &unused, &age, &want, &absent) != 5)
		absent = 0;
	if (f != NULL)
		fclose(f);
	return absent;
}

/* Looks for files that are not there.  The kernel may give the oldest back: only what it keeps at one time counts. */
static long
one_absent_name(unsigned i)
{
	enum { NAMES = 5000, LEAST = 192 };
	static long most;
	char        name[64];
	struct stat st;

	if (i == 0)
		most = absent_names();
	for (int k = 0; k < NAMES; k++) {
		snprintf(name, sizeof(name), "/usr/a-file-that-is-not-there-%d-%u-%d", getpid(), i, k);
		stat(name, &st);
	}
	long now = absent_names(), more = now > most ? now - most : 0;
	most += more;
	return more * LEAST;
}

const struct attack kernel_hoards[] = {
	HOARD_OF("locks", "memory of the whole machine, in locks on files", one_lock),
	HOARD_OF("nameless-locks", "memory of the whole machine, in locks of nobody", one_nameless_lock),
	HOARD_OF("epoll", "memory of the whole machine, in watched descriptors", one_epoll),
	HOARD_OF("timer-descriptors", "memory of the whole machine, in timers", one_timerfd),
	HOARD_OF("timers", "memory of the whole machine, in timers without a descriptor", one_timer),
	HOARD_OF("semaphores", "memory of the whole machine, in semaphores", one_semaphores),
	HOARD_OF("messages", "memory of the whole machine, in queues of messages", one_messages),
	HOARD_OF("page-tables", "memory of the whole machine, in tables for pages of zeros", one_page_table),
	HOARD_OF("mappings", "memory of the whole machine, in mappings of nothing", one_mapping),
	HOARD_OF("attributes", "memory of the whole machine, in attributes of files", one_attribute),
	HOARD_OF("rulesets", "memory of the whole machine, in rules of landlock", one_ruleset),
	HOARD_OF("pipes", "memory of the whole machine, in pipes", one_pipe),
	HOARD_OF("inotify", "memory of the whole machine, in events that nobody reads", one_event_queue),
	HOARD_OF("signals", "memory of the whole machine, in signals that nobody takes", one_signal),
	HOARD_OF("posix-queues", "memory of the whole machine, in queues of messages with names", one_posix_queue),
	HOARD_OF("absent-names", "memory of the whole machine, in names of files that are not there", one_absent_name),
	HOARD_OF("memfd", "memory of the whole machine, in files without a name", one_memfd),
	{ "hoards.aio", "all asynchronous requests of the machine", ANYWHERE, call_filtered,
	    RAW("io_setup", SYS_io_setup, 1, BAD) },
	{ .name = NULL },
};
