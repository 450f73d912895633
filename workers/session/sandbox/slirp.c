#include "sandbox/slirp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/fd.h"

static const char *const places[] = { "/usr/bin/slirp4netns", "/usr/local/bin/slirp4netns", "/bin/slirp4netns" };

enum { READY_FD = 3, STOP_FD = 4 }; /* as in the program's arguments */

static const char *
program(void)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

int
slirp_prepare(struct slirp *s, struct err *e)
{
	int ready[2], stop[2];

	if (program() == NULL)
		return err_set(e, E_BACKEND,
		    "network_on = slirp needs slirp4netns, which is not installed; remedy: apt-get install "
		    "slirp4netns, or "
		    "network_on = egress");
	if (pipe2(ready, O_CLOEXEC) == -1)
		return err_sys(e, "pipe for slirp4netns");
	s->ready = ready[0];
	s->say_ready = ready[1];
	if (pipe2(stop, O_CLOEXEC) == -1)
		return err_sys(e, "pipe for slirp4netns");
	s->stop = stop[0];
	s->hold = stop[1];
	return 0;
}

/* Ours may be 3 or 4 themselves: both are moved up first. */
static int
place(const struct slirp *s)
{
	int ready = fcntl(s->say_ready, F_DUPFD, 16), stop = fcntl(s->stop, F_DUPFD, 16);
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) == -1)
			return -1;
	if (dup2(ready, READY_FD) == -1 || dup2(stop, STOP_FD) == -1)
		return -1;
	return (int)syscall(SYS_close_range, STOP_FD + 1, ~0U, 0);
}

/*
 * As root it gets mounts of its own: it unmounts what it does not want to see, /run/netns among it, and where the
 * host's mounts are shared that would be the host's.  What the host unmounts is to go here too.  An ordinary user's
 * cannot do either.
 */
static bool
own_mounts(void)
{
	return geteuid() != 0 || (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0);
}

static _Noreturn void
become_slirp(const struct slirp *s, const char *path, pid_t pid)
{
	char  target[16], ready[32], stop[32];
	char *argv[] = { "slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", "--enable-sandbox",
		"--enable-seccomp", "--enable-ipv6", ready, stop, target, "tap0", NULL };
	char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };

	snprintf(target, sizeof(target), "%d", pid);
	snprintf(ready, sizeof(ready), "--ready-fd=%d", READY_FD);
	snprintf(stop, sizeof(stop), "--exit-fd=%d", STOP_FD);
	if (own_mounts() && place(s) == 0)
		execve(path, argv, env);
	_exit(127); /* the sandbox waits for its word, and sees that there will be none */
}

int
slirp_start(struct slirp *s, const struct cgroup *c, pid_t pid, struct err *e)
{
	int        tasks[CG__COUNT];
	struct err why;

	cgroup_open_tasks(c, tasks);
	pid_t child = cgroup_fork(c, NULL);
	if (child == 0 && cgroup_join_tasks(tasks, &why) == 0)
		become_slirp(s, program(), pid);
	if (child == 0)
		_exit(127);
	for (int k = 0; k < CG__COUNT; k++)
		fd_close(&tasks[k]);
	fd_close(&s->say_ready);
	fd_close(&s->stop);
	return child == -1 ? err_sys(e, "start slirp4netns") : 0;
}

int
slirp_await(const struct slirp *s, struct err *e)
{
	char    byte;
	ssize_t n;

	close(s->say_ready); /* the program's alone, so that its end is seen */
	while ((n = read(s->ready, &byte, 1)) == -1 && errno == EINTR)
		;
	if (n == 1)
		return 0;
	return err_set(e, E_BACKEND, "slirp4netns ended before the network was set up; is /dev/net/tun there?");
}

void
slirp_clear(struct slirp *s)
{
	fd_close(&s->ready);
	fd_close(&s->say_ready);
	fd_close(&s->stop);
	fd_close(&s->hold);
}
