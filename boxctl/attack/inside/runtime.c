/* The programs a sandbox runs on: init, and what every command is run by.  CVE-2019-5736 is the classic. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

static const struct {
	const char *name;
	int         flags;
} ways[] = {
	{ "to write", O_WRONLY },
	{ "to read and write", O_RDWR },
	{ "to append", O_WRONLY | O_APPEND },
	{ "to truncate", O_WRONLY | O_TRUNC },
};

/* No O_CREAT anywhere: what is not there is not made. */
static void
try_writing(struct report *r, const char *path)
{
	for (size_t i = 0; i < COUNT(ways); i++)
		failed(r, open(path, ways[i].flags | O_CLOEXEC), "open %s %s", path, ways[i].name);
	int link = open(path, O_PATH | O_CLOEXEC);
	if (link == -1)
		return;
	char again[64];
	snprintf(again, sizeof(again), "/proc/self/fd/%d", link);
	for (size_t i = 0; i < COUNT(ways); i++)
		failed(r, open(again, ways[i].flags | O_CLOEXEC), "open %s %s by a descriptor", path, ways[i].name);
	close(link);
}

static void
of_init(struct report *r, const void *arg)
{
	char to[256];

	try_writing(r, "/proc/1/exe");
	failed(r, readlink("/proc/1/exe", to, sizeof(to)), "read the link /proc/1/exe");
	failed(r, open("/proc/1/exe", O_RDONLY | O_CLOEXEC), "open /proc/1/exe to read");
	failed(r, truncate("/proc/1/exe", 0), "truncate /proc/1/exe");
	failed(r, chmod("/proc/1/exe", 0777), "chmod /proc/1/exe");
}

/* cat, reading from our pipe; its pid when it has been executed.  Descriptors that close then tell. */
static pid_t
start_cat(int *feed)
{
	int  in[2], executed[2];
	char none;

	if (pipe2(in, O_CLOEXEC) == -1 || pipe2(executed, O_CLOEXEC) == -1)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		execl("/bin/cat", "cat", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(executed[1]);
	(void)!read(executed[0], &none, 1);
	close(executed[0]);
	*feed = in[1];
	return pid;
}

/* A running program is busy; so keep its link until it has ended, and write then. */
static void
of_a_command(struct report *r, const void *arg)
{
	char  path[64], again[64];
	int   feed = -1;
	pid_t pid = start_cat(&feed);

	if (pid == -1) {
		skips(r, "no pipe or process for it");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	for (size_t i = 0; i < COUNT(ways); i++)
		failed(r, open(path, ways[i].flags | O_CLOEXEC), "open /proc/PID/exe of cat %s", ways[i].name);
	int link = open(path, O_PATH | O_CLOEXEC);
	close(feed);
	waitpid(pid, NULL, 0);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", link);
	for (size_t i = 0; link != -1 && i < COUNT(ways); i++)
		failed(r, open(again, ways[i].flags | O_CLOEXEC), "open cat's program %s after its end", ways[i].name);
}

static const char *const programs[] = { "/bin/sh", "/usr/bin/env", "/usr/bin/cat", "/usr/bin/su" };
static const char *const libraries[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
	"/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/usr/lib64/libc.so.6",
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld.so.conf" };
static const char *const settings[] = { "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf",
	"/etc/nsswitch.conf", "/etc/profile" };

struct list {
	const char *const *paths;
	size_t             n;
};

static void
of_list(struct report *r, const void *arg)
{
	const struct list *l = arg;

	for (size_t i = 0; i < l->n; i++)
		try_writing(r, l->paths[i]);
}

static int
become_init(void *arg)
{
	execl("/proc/1/exe", "box-init", "mark", "1", (char *)NULL);
	return errno == EACCES || errno == EPERM || errno == ENOENT ? 0 : 1;
}

/* A second init would be a program with the daemon's protocol in it, to be studied or traced. */
static void
executed(struct report *r, const void *arg)
{
	if (in_child(become_init, NULL) == 0)
		holds(r, "execute /proc/1/exe: refused");
	else
		works(r, "/proc/1/exe can be executed");
}

#define LIST(l) OF(struct list, l, COUNT(l))

const struct attack runtime_attacks[] = {
	{ "runtime.init-exe", "the program of every later sandbox overwritten through /proc/1/exe", INSIDE, of_init,
	    NULL },
	{ "runtime.command-exe", "a program of the host overwritten through /proc/PID/exe", INSIDE, of_a_command,
	    NULL },
	{ "runtime.init-executed", "init's program run by a command", INSIDE, executed, NULL },
	{ "runtime.programs", "a program of the host changed for everybody", INSIDE, of_list, LIST(programs) },
	{ "runtime.libraries", "code of the attacker's in every program of the host", INSIDE, of_list,
	    LIST(libraries) },
	{ "runtime.settings", "the settings of later commands changed", INSIDE, of_list, LIST(settings) },
	{ .name = NULL },
};
