#include "slirp.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>

#include "fd.h"

static const char *const places[] = { "/usr/bin/slirp4netns", "/usr/local/bin/slirp4netns", "/bin/slirp4netns" };

enum { READY_FD = 3, STOP_FD = 4 }; /* as the program is told */

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

/* Its own descriptors may be 3 or 4: both are moved up first. */
static int
place(posix_spawn_file_actions_t *files, int *from, int to)
{
	int up = fcntl(*from, F_DUPFD_CLOEXEC, 16);

	if (up == -1)
		return -1;
	fd_close(from);
	*from = up;
	return posix_spawn_file_actions_adddup2(files, up, to) == 0 ? 0 : -1;
}

int
slirp_start(struct slirp *s, pid_t pid, struct err *e)
{
	posix_spawn_file_actions_t files;
	char                       target[16], ready[32], stop[32];
	char *argv[] = { "slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback", "--enable-sandbox",
		"--enable-seccomp", "--enable-ipv6", ready, stop, target, "tap0", NULL };
	char *env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	pid_t child;

	snprintf(target, sizeof(target), "%d", pid);
	snprintf(ready, sizeof(ready), "--ready-fd=%d", READY_FD);
	snprintf(stop, sizeof(stop), "--exit-fd=%d", STOP_FD);
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	int failed = place(&files, &s->say_ready, READY_FD) == -1 || place(&files, &s->stop, STOP_FD) == -1
			 ? errno
			 : posix_spawn(&child, program(), &files, NULL, argv, env);
	posix_spawn_file_actions_destroy(&files);
	fd_close(&s->say_ready);
	fd_close(&s->stop);
	errno = failed;
	return failed == 0 ? 0 : err_sys(e, "start slirp4netns");
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
