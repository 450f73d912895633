#include "scanner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fd.h"

/* ---- the process itself ----------------------------------------------------------- */

enum { CONTROL = 3, WORKSPACE = 4, PROC = 5 };

/* Low numbers first, as they may be each other's. */
static int
place(int from[3], bool has_proc)
{
	for (int i = 0; i < 3; i++)
		if ((i < 2 || has_proc) && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 16)) == -1)
			return -1;
	for (int i = 0; i < 3; i++)
		if ((i < 2 || has_proc) && dup3(from[i], CONTROL + i, O_CLOEXEC) == -1)
			return -1;
	return (int)syscall(SYS_close_range, has_proc ? PROC + 1 : PROC, ~0U, 0);
}

/*
 * To read every directory whatever its mode; to see what other processes have open, and
 * through /proc/PID/map_files mapped.  Where there is no right to keep, the mode decides.
 */
static int
confine(void)
{
	static const int rights[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE };

	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct   have[2], data[2] = { 0 };

	if (syscall(SYS_capget, &head, have) == -1)
		return -1;
	for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++)
		data[rights[i] / 32].permitted |= 1U << rights[i] % 32;
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted &= have[i].permitted;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	return (int)syscall(SYS_capset, &head, data);
}

static _Noreturn void
scan_for_ever(uint64_t max_entries, bool has_proc)
{
	char        ask;
	struct scan s;

	while (recv(CONTROL, &ask, 1, 0) == 1) {
		uint64_t since = span_us();

		scan_begin(&s, max_entries);
		scan_tree(&s, WORKSPACE);
		if (s.total.end == SCAN_WHOLE && has_proc)
			scan_open_files(&s, PROC);
		scan_end(&s);
		s.total.took_us = span_us() - since;
		if (send(CONTROL, &s.total, sizeof(s.total), MSG_NOSIGNAL) == -1)
			break;
	}
	_exit(0);
}

static _Noreturn void
child_main(int control, int workspace, int proc, uint64_t max_entries, pid_t parent)
{
	int from[3] = { control, workspace, proc };

	prctl(PR_SET_NAME, "box-scan");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != parent || place(from, proc >= 0) == -1 ||
	    confine() == -1)
		_exit(1);
	scan_for_ever(max_entries, proc >= 0);
}

/* ---- its worker's end ------------------------------------------------------------------ */

int
scanner_start(struct scanner *s, int workspace, int proc, uint64_t max_entries, struct err *e)
{
	int   ends[2];
	pid_t parent = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		return err_sys(e, "socketpair for the scanner");
	pid_t pid = fork();
	if (pid == 0)
		child_main(ends[1], workspace, proc, max_entries, parent);
	close(ends[1]);
	if (pid == -1) {
		close(ends[0]);
		return err_sys(e, "fork the scanner");
	}
	*s = (struct scanner){ pid, ends[0] };
	return 0;
}

int
scanner_ask(struct scanner *s, struct err *e)
{
	if (send(s->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == -1)
		return err_sys(e, "ask the scanner");
	return 0;
}

int
scanner_answer(struct scanner *s, struct scan_total *t, struct err *e)
{
	ssize_t n = recv(s->fd, t, sizeof(*t), MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n != sizeof(*t))
		return err_set(e, E_CRASH, "the process that measures the workspace died");
	return 0;
}

/* It may be stuck in a disk's sleep: it is not waited for, and whoever adopts it reaps it. */
void
scanner_stop(struct scanner *s)
{
	if (s->pid <= 0)
		return;
	fd_close(&s->fd);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, WNOHANG);
	s->pid = 0;
}
