/*
 * Init has the uid of the commands, and is not theirs: it pumps the output of all of them, and clients' input passes
 * through it.  Where a call takes a pid, 1 is tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

enum { INIT = 1, KCMP_FILES_TYPE = 2, IOPRIO_PROCESS = 1 };

static void
traced(struct report *r, const void *arg)
{
	failed(r, ptrace(PTRACE_SEIZE, INIT, 0, 0), "ptrace(SEIZE)");
	failed(r, ptrace(PTRACE_ATTACH, INIT, 0, 0), "ptrace(ATTACH)");
	failed(r, syscall(SYS_kcmp, getpid(), INIT, KCMP_FILES_TYPE, 0, 0), "kcmp");
}

static void
memory(struct report *r, const void *arg)
{
	char         here[64] = "";
	struct iovec local = { here, sizeof(here) };

	/* where static programs and stacks usually are; any answer but a refusal means that somebody looked */
	static const uintptr_t places[] = { 0x400000, 0x555555554000, 0x7ffff7ff0000, 0x7ffffffde000, 0x1000 };
	for (size_t i = 0; i < COUNT(places); i++) {
		struct iovec remote = { (void *)places[i], sizeof(here) };

		refused(r, syscall(SYS_process_vm_readv, INIT, &local, 1, &remote, 1, 0), "process_vm_readv");
		refused(r, syscall(SYS_process_vm_writev, INIT, &local, 1, &remote, 1, 0), "process_vm_writev");
	}
}

static void
by_pidfd(struct report *r, const void *arg)
{
	int          pidfd = (int)syscall(SYS_pidfd_open, INIT, 0);
	struct iovec remote = { (void *)0x400000, 4096 };

	if (pidfd == -1) {
		failed(r, -1, "pidfd_open");
		return;
	}
	for (int fd = 0; fd < 16; fd++)
		refused(r, syscall(SYS_pidfd_getfd, pidfd, fd, 0), "pidfd_getfd %d", fd);
	refused(r, syscall(SYS_process_madvise, pidfd, &remote, 1, 21 /* MADV_PAGEOUT */, 0), "process_madvise");
	failed(r, syscall(SYS_process_mrelease, pidfd, 0), "process_mrelease");
}

static void
limits(struct report *r, const void *arg)
{
	struct rlimit none = { 0, 0 };

	for (int what = 0; what < RLIM_NLIMITS; what++)
		if (what != RLIMIT_CORE) /* is taken without effect */
			failed(r, prlimit(INIT, what, &none, NULL), "prlimit %d", what);
}

static void
priority(struct report *r, const void *arg)
{
	struct sched_param param = { 0 };
	cpu_set_t          set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	failed(r, setpriority(PRIO_PROCESS, INIT, 19), "setpriority");
	failed(r, setpriority(PRIO_USER, getuid(), 19), "setpriority of the user");
	failed(r, sched_setscheduler(INIT, SCHED_IDLE, &param), "sched_setscheduler");
	failed(r, sched_setaffinity(INIT, sizeof(set), &set), "sched_setaffinity");
	failed(r, syscall(SYS_ioprio_set, IOPRIO_PROCESS, INIT, 3 << 13), "ioprio_set");
	failed(r, setpriority(PRIO_PGRP, INIT, 19), "setpriority of its group");
	failed(r, syscall(SYS_ioprio_set, 2, INIT, 3 << 13), "ioprio_set of its group");
}

static void
pages(struct report *r, const void *arg)
{
	void         *page = NULL;
	int           node = 0, status = 0;
	unsigned long from = 1, to = 1;
	void         *head;
	size_t        len;

	if (syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0) == -1 && errno == ENOSYS)
		holds(r, "this kernel moves no pages");
	else {
		failed(r, syscall(SYS_move_pages, INIT, 1, &page, &node, &status, 2), "move_pages");
		failed(r, syscall(SYS_migrate_pages, INIT, 64, &from, &to), "migrate_pages");
	}
	failed(r, syscall(SYS_get_robust_list, INIT, &head, &len), "get_robust_list");
}

/* A parent that is gone leaves its child to init, who must take it up: then it is alive and at work. */
static bool
init_reaps(void)
{
	int   ends[2];
	pid_t orphan = -1, pid;

	if (pipe2(ends, O_CLOEXEC) == -1 || (pid = fork()) == -1)
		return false;
	if (pid == 0) {
		orphan = fork();
		if (orphan == 0)
			_exit(0);
		_exit(write(ends[1], &orphan, sizeof(orphan)) == (ssize_t)sizeof(orphan) ? 0 : 1);
	}
	ssize_t n = read(ends[0], &orphan, sizeof(orphan));
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; n == (ssize_t)sizeof(orphan) && i < 10000; i++) {
		if (kill(orphan, 0) == -1 && errno == ESRCH)
			return true;
		usleep(1000);
	}
	return false;
}

/* To send is allowed, pid 1 of a namespace does not take what it has no handler for.  The effect counts. */
static void
signals(struct report *r, const void *arg)
{
	int pidfd = (int)syscall(SYS_pidfd_open, INIT, 0);

	for (int s = 1; s <= 64; s++) {
		siginfo_t info = { .si_signo = s, .si_code = -1 };

		kill(INIT, s);
		syscall(SYS_tgkill, INIT, INIT, s);
		syscall(SYS_tkill, INIT, s);
		syscall(SYS_rt_sigqueueinfo, INIT, s, &info);
		syscall(SYS_rt_tgsigqueueinfo, INIT, INIT, s, &info);
		if (pidfd != -1)
			syscall(SYS_pidfd_send_signal, pidfd, s, NULL, 0);
	}
	if (init_reaps())
		holds(r, "64 signals, six ways each: init goes on");
	else
		works(r, "after 64 signals init takes up no orphan any more");
}

/* A descriptor's owner gets its signals, whoever set it. */
static void
owner_signals(struct report *r, const void *arg)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1) {
		skips(r, "no pipe");
		return;
	}
	fcntl(ends[0], F_SETOWN, INIT);
	fcntl(ends[0], F_SETSIG, SIGKILL);
	fcntl(ends[0], F_SETFL, O_ASYNC);
	for (int i = 0; i < 100; i++)
		(void)!write(ends[1], "x", 1);
	if (init_reaps())
		holds(r, "F_SETOWN to init, with SIGKILL: init goes on");
	else
		works(r, "a pipe owned by init has ended it");
}

/* Everybody in the namespace but init and us. */
static void
everybody(struct report *r, const void *arg)
{
	kill(-1, SIGSTOP);
	kill(-1, SIGCONT);
	kill(-1, SIGTERM);
	if (init_reaps())
		holds(r, "kill(-1): init goes on");
	else
		works(r, "kill(-1) has ended or stopped init");
}

static void
zombies(struct report *r, const void *arg)
{
	for (int i = 0; i < 2000; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork() == -1)
				_exit(1);
			_exit(0);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	if (init_reaps())
		holds(r, "2000 orphans: init takes them all up");
	else
		works(r, "after 2000 orphans init takes none up any more");
}

const struct attack init_attacks[] = {
	{ "init.trace", "the attacker is init", INSIDE, traced, NULL },
	{ "init.memory", "init's memory is read or changed", INSIDE, memory, NULL },
	{ "init.pidfd", "init's sockets to the daemon in the attacker's hands", INSIDE, by_pidfd, NULL },
	{ "init.limits", "init can open or start nothing any more", INSIDE, limits, NULL },
	{ "init.priority", "init gets no processor", INSIDE, priority, NULL },
	{ "init.pages", "init's pages are moved, its addresses told", INSIDE, pages, NULL },
	{ "init.orphans", "init cannot keep up with its children", INSIDE, zombies, NULL },
	{ "init.signals", "init is ended or stopped", ALONE, signals, NULL },
	{ "init.owner-signals", "init is ended by a descriptor's signal", ALONE, owner_signals, NULL },
	{ "init.everybody", "init is ended by a signal to everybody", ALONE, everybody, NULL },
	{ .name = NULL },
};
