/*
 * What uses something up, and holds it until it is killed.  Whether it worked is not to be seen from here: boxctl
 * asks a neighbour meanwhile, which runs the last row of this file.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/stdfds.h"
#include "hoards.h"

/* ---- bombs ---- */

/* One more for as long as there is one more; then hold them.  arg: a struct hoard. */
static void
take_all(struct report *r, const void *arg)
{
	const struct hoard *h = arg;

	stdfds_raise_limit();
	for (unsigned i = 0; h->one(i) != -1; i++)
		;
	for (;;)
		pause();
}

static void
processes(struct report *r, const void *arg)
{
	for (;;)
		if (fork() == -1)
			sched_yield();
}

static void
memory(struct report *r, const void *arg)
{
	enum { STEP = 1 << 20 };

	for (;;) {
		char *p = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p == MAP_FAILED)
			sched_yield();
	}
}

/* As a file of memory: no process's own, and not counted as such. */
static void
shared_memory(struct report *r, const void *arg)
{
	static char page[1 << 16];
	int         fd = memfd_create("bomb", MFD_CLOEXEC);

	while (write(fd, page, sizeof(page)) > 0)
		;
	for (;;)
		pause();
}

static long
one_file(unsigned i)
{
	static const char *const dirs[] = { "/tmp", "/home", "/workspace", "/dev/shm" };
	static unsigned          dir;
	char                     path[64];

	for (; dir < COUNT(dirs); dir++) {
		snprintf(path, sizeof(path), "%s/bomb-%u", dirs[dir], i);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd != -1) {
			close(fd);
			return 0;
		}
	}
	return -1;
}

static void
bytes(struct report *r, const void *arg)
{
	static const char *const dirs[] = { "/workspace", "/home", "/dev/shm", "/tmp" };
	static char              block[1 << 16];
	char                     path[64];

	for (size_t i = 0; i < COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "%s/bomb", dirs[i]);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		while (write(fd, block, sizeof(block)) > 0)
			;
		close(fd);
	}
	for (;;)
		pause();
}

static long
one_descriptor(unsigned i)
{
	return i % 2 == 0 ? eventfd(0, EFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* In several processes, since each has a limit of its own. */
static void
descriptors(struct report *r, const void *arg)
{
	for (int i = 0; i < 20 && fork() > 0; i++)
		;
	take_all(r, &(const struct hoard){ one_descriptor });
}

static void
output(struct report *r, const void *arg)
{
	static char block[1 << 16];

	memset(block, 'x', sizeof(block));
	for (;;)
		if (write(STDOUT_FILENO, block, sizeof(block)) == -1 &&
		    write(STDERR_FILENO, block, sizeof(block)) == -1)
			sched_yield();
}

static long
one_pipe(unsigned i)
{
	static char block[1 << 20];
	int         ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1)
		return -1;
	fcntl(ends[1], F_SETPIPE_SZ, sizeof(block));
	(void)!write(ends[1], block, sizeof(block));
	return 0;
}

static long
one_socket(unsigned i)
{
	static char block[60000];
	int         ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == -1)
		return -1;
	while (send(ends[0], block, sizeof(block), MSG_NOSIGNAL) > 0)
		;
	return 0;
}

static long
one_inotify(unsigned i)
{
	static int fd = -1;
	int        more = inotify_init1(IN_CLOEXEC);

	fd = more != -1 ? more : fd;
	char path[64];
	snprintf(path, sizeof(path), "/tmp/watch-%u", i);
	if (more == -1 && mkdir(path, 0700) == -1) /* no instance left: watches, until there is no file left */
		return -1;
	return fd == -1 ? -1 : inotify_add_watch(fd, more == -1 ? path : "/tmp", IN_ALL_EVENTS);
}

static long
one_signal(unsigned i)
{
	siginfo_t info = { .si_signo = SIGRTMIN + 4, .si_code = -1, .si_pid = getpid() };

	return syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN + 4, &info);
}

static void
signals(struct report *r, const void *arg)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	take_all(r, &(const struct hoard){ one_signal });
}

static long
one_queue(unsigned i)
{
	struct mq_attr attr = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	char           name[32];

	snprintf(name, sizeof(name), "bomb-%u", i);
	return syscall(SYS_mq_open, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attr);
}

static long
one_terminal(unsigned i)
{
	return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void
processor(struct report *r, const void *arg)
{
	for (int i = 0; i < 32 && fork() > 0; i++)
		;
	for (volatile unsigned i = 0;; i++)
		;
}

static void
orphans(struct report *r, const void *arg)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)!fork();
			usleep(20000);
			_exit(0);
		}
		if (pid == -1)
			sched_yield();
	}
}

/* ---- the neighbour ---- */

/* Nothing of ours may have become less: one of each, and it must be had. */
static int
end_at_once(void *arg)
{
	return 0;
}

static void
share(struct report *r, const void *arg)
{
	enum { MEMORY = 8 << 20 };
	int      ends[2] = { -1, -1 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (in_child(end_at_once, NULL) != 0)
		works(r, "no process is left for it: %s", strerrorname_np(errno));
	if (mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
		works(r, "no memory is left for it: %s", strerrorname_np(errno));
	for (int i = 0; i < 64; i++)
		if (eventfd(0, EFD_CLOEXEC) == -1)
			works(r, "no descriptor is left for it: %s", strerrorname_np(errno));
	if (pipe2(ends, O_CLOEXEC) == -1 || fcntl(ends[1], F_SETPIPE_SZ, 64 << 10) == -1)
		works(r, "no pipe of usual size is left for it: %s", strerrorname_np(errno));
	if (inotify_add_watch(inotify_init1(IN_CLOEXEC), "/tmp", IN_CREATE) == -1)
		works(r, "no inotify instance or watch is left for it: %s", strerrorname_np(errno));
	if (epoll_create1(EPOLL_CLOEXEC) == -1 || timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) == -1)
		works(r, "no timer is left for it: %s", strerrorname_np(errno));
	if (one_signal(0) == -1)
		works(r, "no queued signal is left for it: %s", strerrorname_np(errno));
	if (one_terminal(0) == -1)
		works(r, "no terminal is left for it: %s", strerrorname_np(errno));
	int queue = (int)one_queue(0);
	if (queue == -1 && errno != ENOSYS)
		works(r, "no message queue is left for it: %s", strerrorname_np(errno));
	syscall(SYS_mq_unlink, "bomb-0");
	if (access(scratch_file("share"), F_OK) == -1)
		works(r, "no file is left for it: %s", strerrorname_np(errno));
	holds(r, "a process, memory, descriptors, pipes, inotify, signals, queues, terminals and files are to be had");
}

const struct attack bombs[] = {
	{ "bombs.processes", "processes of the whole machine", BOMB, processes, NULL },
	{ "bombs.orphans", "inits of the whole machine", BOMB, orphans, NULL },
	{ "bombs.memory", "memory of the whole machine", BOMB, memory, NULL },
	{ "bombs.shared-memory", "memory of the whole machine, in files without a name", BOMB, shared_memory, NULL },
	{ "bombs.files", "inodes of the whole machine", BOMB, take_all, &(const struct hoard){ one_file } },
	{ "bombs.bytes", "disks or memory of the whole machine, in files", BOMB, bytes, NULL },
	{ "bombs.descriptors", "open files of the whole machine", BOMB, descriptors, NULL },
	{ "bombs.output", "memory of the daemon and of its clients", BOMB, output, NULL },
	{ "bombs.pipes", "the kernel's memory in pipes", BOMB, take_all, &(const struct hoard){ one_pipe } },
	{ "bombs.sockets", "the kernel's memory in sockets", BOMB, take_all, &(const struct hoard){ one_socket } },
	{ "bombs.inotify", "inotify instances and watches of a user", BOMB, take_all,
	    &(const struct hoard){ one_inotify } },
	{ "bombs.signals", "queued signals of a user", BOMB, signals, NULL },
	{ "bombs.queues", "message queues of a user", BOMB, take_all, &(const struct hoard){ one_queue } },
	{ "bombs.terminals", "terminals of the whole machine", BOMB, take_all, &(const struct hoard){ one_terminal } },
	{ "bombs.processor", "the processor", BOMB, processor, NULL },
	{ "neighbour.share", "what a session has became less because of its neighbour", SHARE, share, NULL },
	{ .name = NULL },
};
