#include "interrupt.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"

/* What nohup or a background shell has told us to ignore stays ignored. */
static void
add_unless_ignored(sigset_t *set, int signal)
{
	struct sigaction now;

	if (sigaction(signal, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaddset(set, signal);
}

int
interrupt_open(struct interrupt *in, struct err *e)
{
	sigset_t set;

	*in = (struct interrupt){ .fd = -1 };
	sigemptyset(&set);
	add_unless_ignored(&set, SIGINT);
	add_unless_ignored(&set, SIGTERM);
	add_unless_ignored(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) == -1 || (in->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) == -1)
		return err_sys(e, "signalfd");
	return 0;
}

void
interrupt_read(struct interrupt *in)
{
	struct signalfd_siginfo info;

	while (read(in->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (in->count++ == 0)
			in->signal = (int)info.ssi_signo;
	}
}

void
interrupt_close(struct interrupt *in)
{
	fd_close(&in->fd);
}
