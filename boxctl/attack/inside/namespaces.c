/* New namespaces, by every call that makes one, and ways into others'. */
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

enum { NS_IOCTL = 0xb7, PIDFD_IOCTL = 0xff };

struct ns {
	const char *name; /* in /proc/PID/ns */
	uint64_t    flag;
};

/* ---- making one ---- */

static void
by_unshare(struct report *r, const void *arg)
{
	const struct ns *ns = arg;

	refused(r, syscall(SYS_unshare, ns->flag), "unshare(%s)", ns->name);
}

/* A child that is born all the same ends at once. */
static void
born(struct report *r, long pid, const char *call, const struct ns *ns)
{
	if (pid == 0)
		_exit(0);
	refused(r, pid, "%s(%s)", call, ns->name);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, __WALL);
}

static void
by_clone(struct report *r, const void *arg)
{
	const struct ns *ns = arg;

	born(r, syscall(SYS_clone, ns->flag | SIGCHLD, 0, 0, 0, 0), "clone", ns);
	born(r, syscall(SYS_clone, ns->flag | CLONE_PARENT_SETTID | SIGCHLD, 0, 0, 0, 0), "clone", ns);
}

/* The first size the kernel knew, and today's. */
static void
by_clone3(struct report *r, const void *arg)
{
	const struct ns  *ns = arg;
	struct clone_args args = { .flags = ns->flag, .exit_signal = SIGCHLD };

	born(r, syscall(SYS_clone3, &args, CLONE_ARGS_SIZE_VER0), "clone3", ns);
	born(r, syscall(SYS_clone3, &args, sizeof(args)), "clone3", ns);
}

/* ---- joining one ---- */

static void
by_setns(struct report *r, const void *arg)
{
	static const char *const whose[] = { "1", "self", "thread-self" };
	const struct ns         *ns = arg;
	char                     path[64];

	for (size_t i = 0; i < COUNT(whose); i++) {
		snprintf(path, sizeof(path), "/proc/%s/ns/%s", whose[i], ns->name);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd == -1) {
			if (i == 0)
				failed(r, -1, "open %s", path);
			continue;
		}
		if (i == 0)
			works(r, "%s opens", path);
		refused(r, syscall(SYS_setns, fd, 0), "setns to %s", path);
		close(fd);
	}
}

static void
by_pidfd(struct report *r, const void *arg)
{
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	if (pidfd == -1) {
		failed(r, -1, "pidfd_open init");
		return;
	}
	refused(r, syscall(SYS_setns, pidfd, CLONE_NEWNS | CLONE_NEWUSER), "setns to init's pidfd");
	for (unsigned i = 1; i <= 10; i++) { /* PIDFD_GET_*_NAMESPACE */
		int fd = ioctl(pidfd, _IO(PIDFD_IOCTL, i), 0);

		failed(r, fd, "namespace %u of init by its pidfd", i);
	}
}

/* From a namespace of ours to the one around it. */
static void
parents(struct report *r, const void *arg)
{
	static const char *const kinds[] = { "user", "pid" };
	char                     path[64];

	for (size_t i = 0; i < COUNT(kinds); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd == -1)
			failed(r, -1, "open %s", path);
		else
			failed(r, ioctl(fd, _IO(NS_IOCTL, 2), 0), "the parent of our %s namespace", kinds[i]);
	}
}

/* The kernel's list of mount namespaces: from ours to the next and the one before. */
static void
neighbours(struct report *r, const void *arg)
{
	uint64_t info[8] = { sizeof(uint64_t) * 2 };
	int      fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	if (fd == -1) {
		skips(r, "our own mount namespace cannot be opened");
		return;
	}
	failed(r, ioctl(fd, _IOR(NS_IOCTL, 11, uint64_t[2]), info), "the next mount namespace");
	failed(r, ioctl(fd, _IOR(NS_IOCTL, 12, uint64_t[2]), info), "the mount namespace before ours");
	failed(r, ioctl(fd, _IOW(NS_IOCTL, 6, int), 1), "a process's number outside");
	close(fd);
}

/* ---- the map of user ids ---- */

static void
host_root(struct report *r, const void *arg)
{
	unsigned long inside, outside, n;
	char          text[256];

	if (slurp("/proc/self/uid_map", text, sizeof(text)) <= 0) {
		skips(r, "/proc/self/uid_map cannot be read");
		return;
	}
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		if (sscanf(line, "%lu %lu %lu", &inside, &outside, &n) != 3)
			continue;
		if (outside == 0)
			works(r, "user %lu here is root of the host: %s", inside, line);
		else
			holds(r, "user %lu here is %lu on the host", inside, outside);
	}
}

/* Not projid_map: the kernel lets everybody write it, and then no project of a file be changed by it. */
static void
map_written(struct report *r, const void *arg)
{
	static const char *const files[] = { "uid_map", "gid_map", "setgroups" };
	char                     path[64];

	for (size_t i = 0; i < COUNT(files); i++) {
		snprintf(path, sizeof(path), "/proc/self/%s", files[i]);
		const char *text = i == 2 ? "allow" : "0 0 1\n";
		int         fd = open(path, O_WRONLY | O_CLOEXEC);
		failed(r, fd == -1 ? -1 : write(fd, text, strlen(text)), "write %s", path);
		if (fd != -1)
			close(fd);
	}
}

#define NS(n, flag) OF(struct ns, n, flag)
#define WITHOUT_CLONE(n, flag, means)                                             \
	ROW("namespaces.unshare-" n, means, ANYWHERE, by_unshare, NS(n, flag)),   \
	    ROW("namespaces.clone3-" n, means, ANYWHERE, by_clone3, NS(n, flag)), \
	    ROW("namespaces.setns-" n, "init's or another's namespace is joined", INSIDE, by_setns, NS(n, flag))
#define EVERY(n, flag, means) \
	WITHOUT_CLONE(n, flag, means), ROW("namespaces.clone-" n, means, ANYWHERE, by_clone, NS(n, flag))

const struct attack namespace_attacks[] = {
	EVERY("user", CLONE_NEWUSER, "every capability, in a namespace where much of the kernel is reached"),
	EVERY("mnt", CLONE_NEWNS, "mounts of its own"),
	EVERY("net", CLONE_NEWNET, "network devices and packet filters of its own"),
	EVERY("pid", CLONE_NEWPID, "processes that the sandbox's init does not count"),
	EVERY("ipc", CLONE_NEWIPC, "queues that no limit counts"),
	EVERY("uts", CLONE_NEWUTS, "another host name; some hosts identify commands by it"),
	EVERY("cgroup", CLONE_NEWCGROUP, "another view of cgroups"),
	WITHOUT_CLONE("time", CLONE_NEWTIME, "another time"),
	{ "namespaces.pidfd", "init's namespaces by its pidfd", INSIDE, by_pidfd, NULL },
	{ "namespaces.parent", "a namespace of the host by its child", INSIDE, parents, NULL },
	{ "namespaces.neighbours", "mount namespaces of others by the kernel's list", INSIDE, neighbours, NULL },
	{ "namespaces.host-root", "root inside is root of the host", ANYWHERE, host_root, NULL },
	{ "namespaces.map", "a host's user id is mapped in", INSIDE, map_written, NULL },
	{ .name = NULL },
};
