/*
 * Attacks on something outside that boxctl has put there: a process, shared memory, a queue.  Its name comes as an
 * argument, so that the attacker knows more than one could ever find out.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

static bool
needs_boxctl(struct report *r)
{
	if (r->tries == 0 && r->open[0] == '\0')
		skips(r, "needs boxctl's half");
	return r->why[0] != '\0';
}

/* A process of our own may have the same number: that one is no hit. */
static bool
is_our_own(int pid)
{
	return pid == getpid() || pid == first_pid || pid == getppid() || pid == 1;
}

static void
seen(struct report *r, const void *arg)
{
	const char *text;
	char        path[64];
	struct stat st;

	for (unsigned i = 0; (text = param(arg, i)) != NULL; i++) {
		if (is_our_own(atoi(text)))
			continue;
		snprintf(path, sizeof(path), "/proc/%d", atoi(text));
		failed(r, stat(path, &st), "find %s", path);
		failed(r, kill(atoi(text), 0), "signal 0 to %s", text);
		failed(r, syscall(SYS_pidfd_open, atoi(text), 0), "pidfd_open %s", text);
		failed(r, getpriority(PRIO_PROCESS, (id_t)atoi(text)), "priority of %s", text);
	}
	needs_boxctl(r);
}

/* In earnest: boxctl looks whether its process still lives. */
static void
killed(struct report *r, const void *arg)
{
	const char *text = param("victim", 0);

	if (text != NULL && !is_our_own(atoi(text))) {
		siginfo_t info = { .si_signo = SIGKILL, .si_code = -1 };

		failed(r, kill(atoi(text), SIGKILL), "kill");
		failed(r, kill(-atoi(text), SIGKILL), "kill its group");
		failed(r, syscall(SYS_tkill, atoi(text), SIGKILL), "tkill");
		failed(r, syscall(SYS_rt_sigqueueinfo, atoi(text), SIGKILL, &info), "rt_sigqueueinfo");
	}
	needs_boxctl(r);
}

static void
posix_shared_memory(struct report *r, const void *arg)
{
	const char *name = param("ipc", 0);
	char        path[64];

	if (name != NULL) {
		snprintf(path, sizeof(path), "/dev/shm/%.40s", name);
		failed(r, open(path, O_RDWR | O_CLOEXEC), "open the host's shared memory");
	}
	needs_boxctl(r);
}

static void
posix_queue(struct report *r, const void *arg)
{
	const char *name = param("mq", 0);

	if (name != NULL)
		failed(r, syscall(SYS_mq_open, name, O_RDWR | O_CLOEXEC, 0, NULL), "open the host's message queue");
	needs_boxctl(r);
}

static void
sysv_shared_memory(struct report *r, const void *arg)
{
	const char *id = param("shmid", 0), *key = param("shmkey", 0);

	if (key != NULL)
		failed(r, shmget((key_t)strtol(key, NULL, 10), 0, 0), "find the host's segment by its key");
	if (id != NULL) {
		void *p = shmat(atoi(id), NULL, SHM_RDONLY);

		failed(r, p == (void *)-1 ? -1 : 0, "attach the host's segment by its number");
	}
	needs_boxctl(r);
}

static void
host_file(struct report *r, const void *arg)
{
	const char *path;

	for (unsigned i = 0; (path = param("file", i)) != NULL; i++)
		failed(r, open(path, O_RDONLY | O_CLOEXEC), "open a file of the host, by its path");
	needs_boxctl(r);
}

const struct attack outside_attacks[] = {
	{ "outside.processes", "the daemon and its workers are seen", INSIDE, seen, "pid" },
	{ "outside.neighbour", "processes of another sandbox are seen", INSIDE, seen, "neighbour" },
	{ "outside.kill", "a process of the host is ended", INSIDE, killed, NULL },
	{ "outside.shm", "shared memory of the host's programs", INSIDE, posix_shared_memory, NULL },
	{ "outside.mq", "message queues of the host's programs", INSIDE, posix_queue, NULL },
	{ "outside.sysv", "shared memory of the host's programs, by key or number", INSIDE, sysv_shared_memory, NULL },
	{ "outside.file", "a file of the host, whose path is known", INSIDE, host_file, NULL },
	{ .name = NULL },
};
